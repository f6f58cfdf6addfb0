package svc

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// Answers are at most 4 MiB; anything much larger is not of this service.
	answerBytesMax = 16 << 20
	// The time of a call, with its retries, whose context has no deadline.
	defaultTimeout = 30 * time.Second
	defaultTries   = 4
	// A service that asks for a longer wait is told about instead.
	retryAfterMax = 30 * time.Second
	// Before the client's own next try at most, and up to a fifth more.
	backOffMax = 30 * time.Second
	userAgent  = "svc-sdk-go"
	// The version of the schema of this module's messages: an absent value is no zero.
	schemaVersionHeader = "Svc-Schema-Version"
	schemaVersion       = "2"
)

// Client calls one service as one caller. It may be used by many goroutines at once.
type Client struct {
	origin  string
	http    *http.Client
	token   func(context.Context) (string, error)
	tries   int
	wait    func(context.Context, time.Duration) error
	session *session
}

// Option changes how a Client calls.
type Option func(*Client)

// WithToken sends a key or an access token with each request.
func WithToken(token string) Option {
	return WithTokenFunc(func(context.Context) (string, error) { return token, nil })
}

// WithTokenFunc asks for the token before each try: for access tokens, which live 15 minutes.
func WithTokenFunc(token func(context.Context) (string, error)) Option {
	return func(c *Client) { c.token = token }
}

// WithHTTPClient calls through another http.Client, with its proxy or its certificates. Redirects
// are not followed, whatever it says of them: they would carry the credential on to another host.
func WithHTTPClient(client *http.Client) Option {
	return func(c *Client) { c.http = client }
}

// WithTries sets how often one call is tried in all; 1 is never again, the default is 4.
func WithTries(tries int) Option {
	return func(c *Client) { c.tries = tries }
}

// Session is that of somebody who has signed in: what only people may do takes it, and no key.
type Session struct {
	// CookieName is "__Host-svc_session", or "svc_session" of a service on plain http.
	CookieName string
	Secret     string
}

type session struct {
	mutex     sync.Mutex
	current   Session
	onRotated func(Session)
}

// WithSession calls as somebody who has signed in. The service gives the session a new secret from
// time to time; onRotated is told, to keep it in place of the old one.
func WithSession(current Session, onRotated func(Session)) Option {
	return func(c *Client) { c.session = &session{current: current, onRotated: onRotated} }
}

// NewClient makes a client of the service at an origin such as https://monitoring.example.com. Plain
// http is taken for this machine alone, because a credential goes with each request.
func NewClient(baseURL string, options ...Option) (*Client, error) {
	origin, err := confidentialOrigin(baseURL)
	if err != nil {
		return nil, err
	}
	c := &Client{origin: origin, http: &http.Client{}, tries: defaultTries, wait: pause}
	for _, option := range options {
		option(c)
	}
	if c.token != nil && c.session != nil {
		return nil, errors.New("svc: a client calls with a token or as a person, not both")
	}
	own := *c.http
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &own
	return c, nil
}

// NewRequestID makes a UUID for RequestID, or for the ID of a new rule. Keep it for every resend.
func NewRequestID() (string, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", err
	}
	// RFC 9562, section 5.4: version 4, variant 10.
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	text := hex.EncodeToString(id[:])
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-"), nil
}

func confidentialOrigin(baseURL string) (string, error) {
	parsed, err := url.Parse(baseURL)
	if err != nil || parsed.Host == "" || parsed.User != nil || strings.Trim(parsed.Path, "/") != "" ||
		parsed.RawQuery != "" {
		return "", errors.New("svc: the address is an origin, such as https://monitoring.example.com")
	}
	host := parsed.Hostname()
	address := net.ParseIP(host)
	isLocal := host == "localhost" || (address != nil && address.IsLoopback())
	if parsed.Scheme != "https" && !(parsed.Scheme == "http" && isLocal) {
		return "", fmt.Errorf("svc: %s://%s is not https: whoever is on the way could read the credential",
			parsed.Scheme, parsed.Host)
	}
	return parsed.Scheme + "://" + parsed.Host, nil
}

// method is one of the API's: what is to be known of it before it is called.
type method struct {
	service string
	name    string
	// It changes something.
	isMutation bool
	// What the request holds is the proof, and no header.
	isAnonymous bool
}

// unary makes one call: again where that cannot do harm, and always with the same bytes.
func unary[Answer any](ctx context.Context, c *Client, m method, request any) (*Answer, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("svc: %s: %w", m.name, err)
	}
	identified, _ := request.(interface{ requestID() string })
	got, err := c.send(ctx, exchange{
		name:      m.name,
		url:       c.origin + "/" + m.service + "/" + m.name,
		verb:      http.MethodPost,
		body:      body,
		header:    http.Header{"Content-Type": {"application/json"}, "Connect-Protocol-Version": {"1"}},
		anonymous: m.isAnonymous,
		mutation:  m.isMutation,
		mayRepeat: !m.isMutation || (identified != nil && identified.requestID() != ""),
	})
	if err != nil {
		return nil, err
	}
	if got.response.StatusCode != http.StatusOK {
		return nil, errorOf(got.response, got.body)
	}
	result := new(Answer)
	if err := json.Unmarshal(got.body, result); err != nil {
		return nil, fmt.Errorf("svc: %s: the answer is not the service's: %w", m.name, err)
	}
	return result, nil
}

// EachPage asks for the pages of a list, from the first ("") to the last. ask answers the token of
// the next page, which is empty on the last one.
func EachPage(ask func(pageToken string) (next string, err error)) error {
	for token := ""; ; {
		next, err := ask(token)
		if err != nil || next == "" {
			return err
		}
		token = next
	}
}

// Ptr makes a pointer to a value, for fields that may be absent.
func Ptr[T any](value T) *T { return &value }

// exchange is a request that can be sent more than once.
type exchange struct {
	name, url, verb     string
	body                []byte
	header              http.Header
	anonymous, mutation bool
	// A resend after a lost answer does nothing twice.
	mayRepeat bool
}

type answer struct {
	response *http.Response
	body     []byte
}

func (c *Client) send(ctx context.Context, e exchange) (answer, error) {
	if _, has := ctx.Deadline(); !has {
		limited, cancel := context.WithTimeout(ctx, defaultTimeout)
		defer cancel()
		ctx = limited
	}
	// Once a try may have reached the service, no later failure takes that back.
	uncertain := false
	for tries := 1; ; tries++ {
		got, err := c.once(ctx, e)
		var noRequest *requestError
		if errors.As(err, &noRequest) {
			return answer{}, noRequest.err
		}
		wait, again := retryWait(e, got, err, tries)
		if err != nil {
			uncertain = uncertain || (e.mutation && !isUnreached(err))
		}
		if again && tries < c.tries && c.wait(ctx, wait) == nil {
			continue
		}
		if err != nil {
			return answer{}, &NoAnswerError{Method: e.name, Uncertain: uncertain, Err: err}
		}
		return got, nil
	}
}

// requestError tells that there was nothing to send: no token, or one that no header can carry.
type requestError struct{ err error }

func (e *requestError) Error() string { return e.err.Error() }

func (c *Client) once(ctx context.Context, e exchange) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, e.verb, e.url, bytes.NewReader(e.body))
	if err != nil {
		return answer{}, &requestError{err}
	}
	for name, values := range e.header {
		request.Header[name] = values
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set(schemaVersionHeader, schemaVersion)
	if err := c.authorise(ctx, request, e.anonymous); err != nil {
		return answer{}, &requestError{err}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	c.noteCookies(response)
	body, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax+1))
	if err != nil {
		return answer{}, err
	}
	if len(body) > answerBytesMax {
		return answer{}, errors.New("the answer is too large to be the service's")
	}
	return answer{response, body}, nil
}

func (c *Client) authorise(ctx context.Context, request *http.Request, anonymous bool) error {
	if anonymous {
		return nil
	}
	if c.session != nil {
		c.session.mutex.Lock()
		defer c.session.mutex.Unlock()
		request.Header.Set("Cookie", c.session.current.CookieName+"="+c.session.current.Secret)
		// A session counts with the service's own origin alone.
		request.Header.Set("Origin", c.origin)
		return nil
	}
	if c.token == nil {
		return nil
	}
	token, err := c.token(ctx)
	if err != nil {
		return fmt.Errorf("svc: no token: %w", err)
	}
	for _, char := range []byte(token) {
		if char <= ' ' || char > '~' {
			return errors.New("svc: the token has characters that no header can carry: was it copied whole?")
		}
	}
	request.Header.Set("Authorization", "Bearer "+token)
	return nil
}

func (c *Client) noteCookies(response *http.Response) {
	if c.session == nil {
		return
	}
	c.session.mutex.Lock()
	defer c.session.mutex.Unlock()
	for _, cookie := range response.Cookies() {
		current := &c.session.current
		// An empty value takes the cookie away; the next call tells what is wrong.
		if cookie.Name != current.CookieName || cookie.Value == "" || cookie.Value == current.Secret {
			continue
		}
		current.Secret = cookie.Value
		if c.session.onRotated != nil {
			c.session.onRotated(*current)
		}
	}
}
