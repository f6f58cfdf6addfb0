package svc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

// seen is a request as a service got it.
type seen struct {
	path, body string
	header     http.Header
}

// reply is what a service answers; a status of 0 hangs up.
type reply struct {
	status      int
	body        string
	retryAfter  string
	cookie      string
	contentType string
}

const refusal = `{"code":"%s","message":"m","details":[{"type":"svc.options.v1.ErrorInfo","value":"%s"}]}`

// STALE_VERSION {currentVersion: "7"}, and IN_PROGRESS.
const (
	staleVersion = "Cg1TVEFMRV9WRVJTSU9OEhMKDmN1cnJlbnRWZXJzaW9uEgE3"
	inProgress   = "CgtJTl9QUk9HUkVTUw"
	tooMany      = "ChFUT09fTUFOWV9SRVFVRVNUUw"
)

func service(t *testing.T, replies ...reply) (url string, requests *[]seen) {
	t.Helper()
	requests = &[]seen{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		next := replies[len(*requests)%len(replies)]
		*requests = append(*requests, seen{r.URL.Path, string(body), r.Header})
		if next.status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		if next.contentType != "" {
			w.Header().Set("Content-Type", next.contentType)
		}
		if next.retryAfter != "" {
			w.Header().Set("Retry-After", next.retryAfter)
		}
		if next.cookie != "" {
			w.Header().Set("Set-Cookie", next.cookie)
		}
		if next.status == http.StatusFound {
			w.Header().Set("Location", "http://127.0.0.1:9/")
		}
		w.WriteHeader(next.status)
		io.WriteString(w, next.body)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// client does not wait, and notes how long it would have.
func client(t *testing.T, url string, options ...Option) (*Client, *[]time.Duration) {
	t.Helper()
	c, err := NewClient(url, append([]Option{WithToken("svc_x")}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	waits := &[]time.Duration{}
	c.wait = func(_ context.Context, wait time.Duration) error {
		*waits = append(*waits, wait)
		return nil
	}
	return c, waits
}

func save(c *Client, requestID string) error {
	_, err := c.SaveAlertRule(context.Background(), &SaveAlertRuleRequest{
		ProjectName: "projects/p", ID: "i", RequestID: requestID, ExpectedVersion: "0",
		Spec: &AlertRuleSpec{Threshold: Ptr(0.0), Enabled: Ptr(false), AllVMs: true},
	})
	return err
}

func TestWhichCallsGoOutAgain(t *testing.T) {
	busy := reply{status: 429, retryAfter: "3", body: fmt.Sprintf(refusal, "resource_exhausted", tooMany)}
	gateway := reply{status: 503, body: "<html>"}
	ok := reply{status: 200, body: "{}"}
	list := func(c *Client) error {
		_, err := c.ListAlertRules(context.Background(), &ListAlertRulesRequest{ProjectName: "projects/p"})
		return err
	}
	with := func(c *Client) error { return save(c, "r") }
	without := func(c *Client) error { return save(c, "") }
	for name, row := range map[string]struct {
		call    func(*Client) error
		replies []reply
		sent    int
		fails   bool
	}{
		"a read that is too much at once":                {list, []reply{busy, ok}, 2, false},
		"a change with a request id":                     {with, []reply{busy, gateway, {}, ok}, 4, false},
		"a change that is being finished":                {with, []reply{{status: 409, body: fmt.Sprintf(refusal, "aborted", inProgress)}, ok}, 2, false},
		"a change without one, refused by the service":   {without, []reply{busy, ok}, 2, false},
		"a change without one, and a gateway answered":   {without, []reply{gateway, ok}, 1, true},
		"a change without one, whose answer was lost":    {without, []reply{{}, ok}, 1, true},
		"a stale version is told, not tried again":       {with, []reply{{status: 409, body: fmt.Sprintf(refusal, "aborted", staleVersion)}}, 1, true},
		"a wait that is too long is told":                {list, []reply{{status: 429, retryAfter: "31"}}, 1, true},
		"never more than four times":                     {list, []reply{gateway}, 4, true},
		"a redirect would take the credential with it":   {list, []reply{{status: 302}}, 1, true},
		"a server's fault is told":                       {list, []reply{{status: 500}}, 1, true},
		"a wait of no seconds still leads to a new call": {list, []reply{{status: 503, retryAfter: "0"}, ok}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			url, requests := service(t, row.replies...)
			c, _ := client(t, url)
			if err := row.call(c); (err != nil) != row.fails {
				t.Fatal(err)
			}
			if len(*requests) != row.sent {
				t.Fatalf("sent %d times", len(*requests))
			}
			for _, request := range *requests {
				if request.body != (*requests)[0].body {
					t.Fatalf("%s was sent after %s", request.body, (*requests)[0].body)
				}
			}
		})
	}
}

func TestAWaitThatCannotBeReadIsNoHotLoop(t *testing.T) {
	date := func(after time.Duration) string { return time.Now().Add(after).UTC().Format(http.TimeFormat) }
	for _, row := range []struct {
		header      string
		least, most time.Duration
	}{
		{"0", 500 * time.Millisecond, 600 * time.Millisecond},
		{"-5", 500 * time.Millisecond, 600 * time.Millisecond},
		{"soon", 500 * time.Millisecond, 600 * time.Millisecond},
		{date(-time.Hour), 500 * time.Millisecond, 600 * time.Millisecond},
		{date(20 * time.Second), 10 * time.Second, 21 * time.Second},
	} {
		url, _ := service(t, reply{status: 503, retryAfter: row.header}, reply{status: 200, body: "{}"})
		c, waits := client(t, url)
		if err := save(c, "r"); err != nil {
			t.Fatal(err)
		}
		if wait := (*waits)[0]; wait < row.least || wait > row.most {
			t.Fatalf("Retry-After %q waits %s", row.header, wait)
		}
	}
}

func TestWaitsAreTheServicesOrGrow(t *testing.T) {
	url, _ := service(t, reply{status: 429, retryAfter: "3"}, reply{status: 503}, reply{status: 503}, reply{status: 200, body: "{}"})
	c, waits := client(t, url)
	if err := save(c, "r"); err != nil {
		t.Fatal(err)
	}
	for i, least := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second} {
		if wait := (*waits)[i]; wait < least || wait > least*6/5 {
			t.Errorf("wait %d is %s", i, wait)
		}
	}
}

func TestManyTriesWaitHalfAMinuteAtMost(t *testing.T) {
	url, requests := service(t, reply{status: 503, retryAfter: "0"})
	c, _ := client(t, url, WithTries(70))
	if err := save(c, "r"); err == nil || len(*requests) != 70 {
		t.Fatal(len(*requests), err)
	}
	url, _ = service(t, reply{status: 503})
	c, waits := client(t, url, WithTries(70))
	if err := save(c, "r"); err == nil || len(*waits) != 69 {
		t.Fatal(len(*waits), err)
	}
	for i, wait := range *waits {
		if wait < 500*time.Millisecond || wait > 36*time.Second {
			t.Errorf("wait %d is %s", i, wait)
		}
	}
}

func TestARefusalHasCodeReasonAndMetadata(t *testing.T) {
	url, requests := service(t, reply{status: 409, body: fmt.Sprintf(refusal, "aborted", staleVersion)})
	c, _ := client(t, url)
	var refused *Error
	if err := save(c, "r"); !errors.As(err, &refused) {
		t.Fatal(err)
	}
	want := &Error{CodeAborted, "STALE_VERSION", "m", map[string]string{"currentVersion": "7"}, 409, 0}
	if !reflect.DeepEqual(refused, want) {
		t.Fatalf("%+v", refused)
	}
	got := (*requests)[0]
	if got.path != "/svc.monitoring.v1.AlertService/SaveAlertRule" ||
		got.header.Get("Authorization") != "Bearer svc_x" || got.header.Get("Connect-Protocol-Version") != "1" || got.header.Get("Svc-Schema-Version") != "2" {
		t.Fatalf("%+v", got)
	}
	if want := `"threshold":0,"allVms":true,"enabled":false`; !strings.Contains(got.body, want) {
		t.Fatalf("a zero that is meant is sent: %s", got.body)
	}
}

func TestALostAnswerTellsWhetherAChangeMayHaveBeenMade(t *testing.T) {
	url, _ := service(t, reply{})
	c, _ := client(t, url)
	var lost *NoAnswerError
	if err := save(c, "r"); !errors.As(err, &lost) || !lost.Uncertain {
		t.Fatalf("%v", err)
	}
	c, _ = client(t, "http://127.0.0.1:9")
	if err := save(c, "r"); !errors.As(err, &lost) || lost.Uncertain {
		t.Fatalf("nobody got it: %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.ListAlertRules(ended, &ListAlertRulesRequest{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
}

func TestTheDeadlineOfACallBoundsItsWaits(t *testing.T) {
	url, requests := service(t, reply{status: 429, retryAfter: "20"})
	c, _ := client(t, url)
	c.wait = pause
	short, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	start := time.Now()
	var refused *Error
	if _, err := c.ListAlertRules(short, &ListAlertRulesRequest{}); !errors.As(err, &refused) {
		t.Fatal(err)
	}
	if refused.RetryAfter != 20*time.Second || len(*requests) != 1 || time.Since(start) > time.Second {
		t.Fatalf("%+v after %s", refused, time.Since(start))
	}
}

func TestWhatWasNotObservedIsNil(t *testing.T) {
	url, _ := service(t, reply{status: 200, body: `{"vms":[
		{"name":"a","state":"RUNNING","cpuUtilizationPct":0,"telemetry":{"state":"LIVE","lastObservedUnix":"1767225600"}},
		{"name":"b","state":"SOMETHING_NEW","telemetry":{"state":"NEVER"},"laterField":{"x":1}}]}`})
	c, _ := client(t, url)
	answer, err := c.ListVMMonitoring(context.Background(), &ListVMMonitoringRequest{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := answer.VMs[0], answer.VMs[1]
	if a.CPUUtilizationPct == nil || *a.CPUUtilizationPct != 0 || *a.Telemetry.LastObservedUnix != 1767225600 {
		t.Fatalf("%+v", a)
	}
	if b.CPUUtilizationPct != nil || b.Telemetry.LastObservedUnix != nil || b.State != "SOMETHING_NEW" {
		t.Fatalf("%+v", b)
	}
}

func TestASessionIsSentAsABrowserWouldAndKeepsItsNewSecret(t *testing.T) {
	url, requests := service(t, reply{status: 200, body: "{}", cookie: "svc_session=two; Path=/; HttpOnly"}, reply{status: 200, body: "{}"})
	var told []Session
	c, err := NewClient(url, WithSession(Session{"svc_session", "one"}, func(s Session) { told = append(told, s) }))
	if err != nil {
		t.Fatal(err)
	}
	for range []int{0, 1} {
		if _, err := c.ListServiceAccounts(context.Background(), &ListServiceAccountsRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, cookie := range []string{"svc_session=one", "svc_session=two"} {
		if header := (*requests)[i].header; header.Get("Cookie") != cookie || header.Get("Origin") != url || header.Get("Authorization") != "" {
			t.Fatalf("request %d: %v", i, header)
		}
	}
	if !reflect.DeepEqual(told, []Session{{"svc_session", "two"}}) {
		t.Fatal(told)
	}
}

func TestAnExchangeCarriesNoCredential(t *testing.T) {
	url, requests := service(t, reply{status: 200, body: `{"accessToken":"t","expiresInSeconds":900}`})
	c, _ := client(t, url)
	answer, err := c.ExchangeCiToken(context.Background(), &ExchangeCiTokenRequest{TrustName: "n", Assertion: "a"})
	if err != nil || answer.AccessToken != "t" || answer.ExpiresInSeconds != 900 {
		t.Fatal(answer, err)
	}
	if (*requests)[0].header.Get("Authorization") != "" {
		t.Fatal("the assertion is the proof")
	}
}

func TestAnAddressThatNoCredentialMayGoTo(t *testing.T) {
	for address, fine := range map[string]bool{
		"https://monitoring.example.com": true, "https://monitoring.example.com/": true,
		"http://127.0.0.1:8080": true, "http://[::1]:8080": true, "http://localhost": true,
		"http://monitoring.example.com": false, "http://127.0.0.1.example.com": false,
		"https://user:x@example.com": false, "https://example.com/api": false, "example.com": false, "": false,
	} {
		if _, err := NewClient(address); (err == nil) != fine {
			t.Errorf("%q: %v", address, err)
		}
	}
	url, requests := service(t, reply{status: 200, body: "{}"})
	c, _ := client(t, url, WithToken("svc_x\r\nX: y"))
	if _, err := c.ListAlertRules(context.Background(), &ListAlertRulesRequest{}); err == nil || len(*requests) > 0 {
		t.Fatal("a token with a line end is sent nowhere")
	}
}

func TestQueriesTellErrorsAndFillNothing(t *testing.T) {
	vector := `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"vm":"a"},"value":[1767225600.5,"NaN"]},{"metric":{},"value":[1,"+Inf"]}]}}`
	matrix := `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[0,"0"],[60,"2"]]}]}}`
	refused := `{"status":"error","errorType":"bad_data","error":"no"}`
	url, requests := service(t,
		reply{status: 200, body: vector},
		reply{status: 200, body: `{"status":"success","data":{"resultType":"scalar","result":[4,"2"]}}`},
		reply{status: 200, body: matrix}, reply{status: 400, body: refused}, reply{status: 502, body: "<html>"},
		reply{status: 200, body: `{"status":"success","data":{"resultType":"vector","result":[]}}`})
	c, _ := client(t, url)
	ctx := context.Background()
	samples, err := c.Query(ctx, "projects/demo", "a & b", time.UnixMilli(1767225600500))
	if err != nil || samples[0].TimeUnix != 1767225600.5 || samples[0].Value == samples[0].Value || samples[0].Labels["vm"] != "a" {
		t.Fatal(samples, err)
	}
	if sent := (*requests)[0]; sent.body != "query=a+%26+b&time=1767225600.5" || sent.path != "/v1/monitoring/projects/demo/promql/api/v1/query" {
		t.Fatalf("%+v", sent)
	}
	if samples, err = c.Query(ctx, "demo", "2", time.Time{}); err != nil || samples[0].Value != 2 {
		t.Fatal(samples, err)
	}
	series, err := c.QueryRange(ctx, "demo", "x", PromRange{0, 120, 60})
	if err != nil || !reflect.DeepEqual(series[0].Points, []PromPoint{{0, 0}, {60, 2}}) {
		t.Fatal(series, err)
	}
	var failed *QueryError
	if _, err = c.Query(ctx, "demo", "x", time.Time{}); !errors.As(err, &failed) || failed.Type != "bad_data" || failed.HTTPStatus != 400 {
		t.Fatal(err)
	}
	if _, err = c.Query(ctx, "demo", "x", time.Time{}); !errors.As(err, &failed) || failed.Type != "bad_answer" {
		t.Fatal(err)
	}
	if samples, err = c.Query(ctx, "demo", "x", time.Time{}); err != nil || len(samples) != 0 {
		t.Fatal("nothing observed is nothing, and no error", samples, err)
	}
}

func TestScrapeTargetsAreEveryShardOrARefusalInPlainText(t *testing.T) {
	url, requests := service(t,
		reply{status: 200, body: `[{"targets":["h:443"],"labels":{"__param_shard":"0"}},{"targets":["h:443"],"labels":{"__param_shard":"1"}}]`},
		reply{status: 403, body: "no\n", contentType: "text/plain; charset=utf-8"})
	c, _ := client(t, url)
	groups, err := c.ScrapeTargets(context.Background(), "projects/demo")
	if err != nil || len(groups) != 2 || groups[1].Labels["__param_shard"] != "1" {
		t.Fatal(groups, err)
	}
	if sent := (*requests)[0]; sent.path != "/v1/monitoring/projects/demo/scrape-targets" || sent.header.Get("Authorization") != "Bearer svc_x" {
		t.Fatalf("%+v", sent)
	}
	var refused *Error
	if _, err = c.ScrapeTargets(context.Background(), "demo"); !errors.As(err, &refused) || refused.Code != CodePermissionDenied || refused.Message != "no" {
		t.Fatal(err)
	}
}

func TestRequestIDsAreUUIDs(t *testing.T) {
	first, err := NewRequestID()
	if err != nil {
		t.Fatal(err)
	}
	second, _ := NewRequestID()
	if len(first) != 36 || first[14] != '4' || !strings.ContainsRune("89ab", rune(first[19])) || first == second {
		t.Fatal(first, second)
	}
}
