// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// Rate is how many calls may come in a time. Those N may come at once; then one
// comes back each N-th part of Per. The zero Rate is no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// maxRate bounds N, as the configuration's schema does.
const maxRate = 999_999_999

var pers = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// ParseRate reads 10/s, 100/m, 1000/h or 5000/d.
func ParseRate(s string) (Rate, error) {
	number, unit, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(number)
	per, known := pers[unit]
	if err != nil || !known || n < 1 || n > maxRate {
		return Rate{}, fmt.Errorf("%q is no rate such as 10/s, 100/m or 5000/d", s)
	}
	return Rate{N: n, Per: per}, nil
}

// String writes it as it is read.
func (r Rate) String() string {
	for unit, per := range pers {
		if per == r.Per {
			return strconv.Itoa(r.N) + "/" + unit
		}
	}
	return "none"
}

// limit is the rate in calls a second.
func (r Rate) limit() rate.Limit { return rate.Limit(float64(r.N) / r.Per.Seconds()) }
