package svc

import (
	"encoding/json"
	"math"
)

// MarshalJSON writes a reading that is not finite as the service reads it, and always writes a zero.
// encoding/json fails for NaN, which would lose every other row of the request: the service rejects
// such a reading alone.
func (v Value) MarshalJSON() ([]byte, error) {
	type plain Value
	if !math.IsNaN(v.Value) && !math.IsInf(v.Value, 0) {
		return json.Marshal(plain(v))
	}
	text := "NaN"
	if math.IsInf(v.Value, 1) {
		text = "Infinity"
	} else if math.IsInf(v.Value, -1) {
		text = "-Infinity"
	}
	v.Value = 0
	return json.Marshal(struct {
		plain
		Value string `json:"value"`
	}{plain(v), text})
}
