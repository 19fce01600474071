// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import "context"

func (*suite) hostDies(context.Context) error {
	return unjudgedf("it is judged where there is a shell to play the host")
}
