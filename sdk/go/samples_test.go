package svc

import (
	"encoding/json"
	"math"
	"testing"
)

func TestValueIsAlwaysWritten(t *testing.T) {
	labels := map[string]string{"device": "vda"}
	for text, value := range map[string]Value{
		`{"series":"a","value":0}`:                                    {Series: "a"},
		`{"series":"a","labels":{"device":"vda"},"value":1.5}`:        {Series: "a", Labels: labels, Value: 1.5},
		`{"series":"a","value":"NaN"}`:                                {Series: "a", Value: math.NaN()},
		`{"series":"a","labels":{"device":"vda"},"value":"Infinity"}`: {Series: "a", Labels: labels, Value: math.Inf(1)},
		`{"series":"a","value":"-Infinity"}`:                          {Series: "a", Value: math.Inf(-1)},
	} {
		request := WriteSamplesRequest{Rows: []Row{{VMName: "vm-1", Values: []Value{value}}}}
		got, err := json.Marshal(request)
		if want := `{"rows":[{"vmName":"vm-1","values":[` + text + `]}]}`; err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
}
