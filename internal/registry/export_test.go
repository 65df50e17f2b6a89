// SPDX-License-Identifier: Apache-2.0

package registry

import "time"

// SetSearchTime sets the time limit of a search.
func (c *Client) SetSearchTime(d time.Duration) { c.searchTime = d }
