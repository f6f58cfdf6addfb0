package svc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// QueryError is a query that failed. That is not an empty result, and neither of them is a zero.
type QueryError struct {
	// Type is Prometheus's word: "bad_data", "timeout", "execution"; "bad_answer" when it was not the
	// service that answered.
	Type       string
	Message    string
	HTTPStatus int
	// RetryAfter is the wait that the service asked for; 0 when it did not.
	RetryAfter time.Duration
}

// Error tells type and message.
func (e *QueryError) Error() string {
	return fmt.Sprintf("svc: query: %s: %s", e.Type, e.Message)
}

// PromPoint is a value at a time. It may be NaN or infinite, as PromQL works it out.
type PromPoint struct {
	// TimeUnix in seconds, with a fraction where the time asked for has one.
	TimeUnix float64
	Value    float64
}

// PromSample is the value of one series at the time of an instant query.
type PromSample struct {
	// Labels are empty for a scalar.
	Labels map[string]string
	PromPoint
}

// PromSeries holds the values of one series in time order. A step that has none is not in it.
type PromSeries struct {
	Labels map[string]string
	Points []PromPoint
}

// PromRange are the steps of a range query; both ends count, and there are at most 10,000.
type PromRange struct {
	StartUnix, EndUnix int64
	// StepSeconds is at least 30.
	StepSeconds int64
}

// Query evaluates a PromQL expression at a time, or now when it is the zero time. An empty result
// tells that nothing was observed. The project is an id or a name such as "projects/demo".
func (c *Client) Query(ctx context.Context, project, query string, at time.Time) ([]PromSample, error) {
	form := url.Values{"query": {query}}
	if !at.IsZero() {
		form.Set("time", strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', -1, 64))
	}
	data, err := c.ask(ctx, project, "query", form)
	if err != nil {
		return nil, err
	}
	if data.ResultType == "scalar" {
		var value promPair
		err := json.Unmarshal(data.Result, &value)
		return []PromSample{{Labels: map[string]string{}, PromPoint: PromPoint(value)}}, badAnswer(err)
	}
	var elements []struct {
		Metric map[string]string
		Value  promPair
	}
	if err := data.read("vector", &elements); err != nil {
		return nil, err
	}
	samples := make([]PromSample, len(elements))
	for i, element := range elements {
		samples[i] = PromSample{element.Metric, PromPoint(element.Value)}
	}
	return samples, nil
}

// QueryRange evaluates a PromQL expression at each step of a range.
func (c *Client) QueryRange(ctx context.Context, project, query string, steps PromRange) ([]PromSeries, error) {
	data, err := c.ask(ctx, project, "query_range", url.Values{
		"query": {query},
		"start": {strconv.FormatInt(steps.StartUnix, 10)},
		"end":   {strconv.FormatInt(steps.EndUnix, 10)},
		"step":  {strconv.FormatInt(steps.StepSeconds, 10)},
	})
	if err != nil {
		return nil, err
	}
	var elements []struct {
		Metric map[string]string
		Values []promPair
	}
	if err := data.read("matrix", &elements); err != nil {
		return nil, err
	}
	series := make([]PromSeries, len(elements))
	for i, element := range elements {
		points := make([]PromPoint, len(element.Values))
		for j, value := range element.Values {
			points[j] = PromPoint(value)
		}
		series[i] = PromSeries{element.Metric, points}
	}
	return series, nil
}

// TargetGroup is one entry of HTTP service discovery: a shard of the project's export.
type TargetGroup struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// ScrapeTargets lists every export shard of a project. There are several when it is large: ask each
// time, and do not assume one.
func (c *Client) ScrapeTargets(ctx context.Context, project string) ([]TargetGroup, error) {
	path := "/v1/monitoring/projects/" + projectID(project) + "/scrape-targets"
	got, err := c.send(ctx, exchange{name: "scrape-targets", url: c.origin + path, verb: http.MethodGet, mayRepeat: true})
	if err != nil {
		return nil, err
	}
	if got.response.StatusCode != http.StatusOK {
		refused := errorOf(got.response, got.body)
		// These refusals are plain text.
		if strings.HasPrefix(got.response.Header.Get("Content-Type"), "text/plain") {
			refused.Message = strings.TrimSpace(string(got.body))
		}
		return nil, refused
	}
	var groups []TargetGroup
	if err := json.Unmarshal(got.body, &groups); err != nil {
		return nil, fmt.Errorf("svc: scrape-targets: the answer is not the service's: %w", err)
	}
	return groups, nil
}

type promData struct {
	ResultType string          `json:"resultType"`
	Result     json.RawMessage `json:"result"`
}

func (d promData) read(resultType string, elements any) error {
	if d.ResultType != resultType {
		return &QueryError{Type: "bad_answer", Message: "a result of type " + d.ResultType, HTTPStatus: http.StatusOK}
	}
	return badAnswer(json.Unmarshal(d.Result, elements))
}

func badAnswer(err error) error {
	if err == nil {
		return nil
	}
	return &QueryError{Type: "bad_answer", Message: err.Error(), HTTPStatus: http.StatusOK}
}

// ask posts a form, so that an expression of 16 KiB fits.
func (c *Client) ask(ctx context.Context, project, endpoint string, form url.Values) (promData, error) {
	got, err := c.send(ctx, exchange{
		name:      endpoint,
		url:       c.origin + "/v1/monitoring/projects/" + projectID(project) + "/promql/api/v1/" + endpoint,
		verb:      http.MethodPost,
		body:      []byte(form.Encode()),
		header:    http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		mayRepeat: true,
	})
	if err != nil {
		return promData{}, err
	}
	envelope := struct {
		Status, ErrorType, Error string
		Data                     promData
	}{}
	failure := &QueryError{HTTPStatus: got.response.StatusCode, RetryAfter: retryAfter(got.response.Header)}
	if json.Unmarshal(got.body, &envelope) != nil || envelope.Status == "" {
		failure.Type = "bad_answer"
		failure.Message = "the service answered HTTP " + strconv.Itoa(got.response.StatusCode)
		return promData{}, failure
	}
	if envelope.Status != "success" {
		failure.Type, failure.Message = envelope.ErrorType, envelope.Error
		return promData{}, failure
	}
	return envelope.Data, nil
}

// promPair is [seconds, "value"].
type promPair PromPoint

func (p *promPair) UnmarshalJSON(text []byte) error {
	var value string
	if err := json.Unmarshal(text, &[]any{&p.TimeUnix, &value}); err != nil {
		return err
	}
	number, err := strconv.ParseFloat(value, 64)
	p.Value = number
	return err
}

func projectID(project string) string {
	return url.PathEscape(strings.TrimPrefix(project, "projects/"))
}
