// SPDX-License-Identifier: Apache-2.0

package registry

import "time"

// SetSearchTime sets how long a search takes at most.
func (c *Client) SetSearchTime(d time.Duration) { c.searchTime = d }
