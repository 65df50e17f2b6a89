// SPDX-License-Identifier: Apache-2.0

package ogx

// Refused returns what the API server would refuse in an OGXServer.
func Refused(object map[string]any) []string {
	var list []string
	for _, v := range schema().fields["spec"].validate(place{"spec"}, object["spec"]) {
		list = append(list, v.at.String()+": "+v.detail)
	}
	return list
}
