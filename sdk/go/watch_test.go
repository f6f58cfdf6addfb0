package svc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func envelope(flags byte, content string) string {
	head := []byte{flags, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(head[1:], uint32(len(content)))
	return string(head) + content
}

// watched answers what was told before the watch ended, and how it ended.
func watched(t *testing.T, contentType, stream string) (told []string, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if want := envelope(0, `{"projectName":"projects/p"}`); string(body) != want || r.Header.Get("Authorization") != "Bearer svc_x" {
			t.Errorf("%q, %v", body, r.Header)
		}
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, stream)
	}))
	defer server.Close()
	c, _ := client(t, server.URL)
	request := &WatchIncidentsRequest{ProjectName: "projects/p"}
	err = c.WatchIncidents(context.Background(), request, func(message *WatchIncidentsResponse) error {
		told = append(told, fmt.Sprintf("%s %d %d", message.Kind, message.Sequence, len(message.Incidents)))
		return nil
	})
	return told, err
}

func TestAWatchTellsEachMessageAndHowItEnded(t *testing.T) {
	const stream = "application/connect+json"
	one := envelope(0, `{"kind":"SNAPSHOT","sequence":"7","incidents":[{"name":"i"}]}`)
	two := envelope(0, `{"kind":"HEARTBEAT","sequence":"8"}`)
	revoked := envelope(2, `{"error":`+fmt.Sprintf(refusal, "unauthenticated", staleVersion)+`}`)
	for name, row := range map[string]struct {
		contentType, sent string
		told              int
		isFine            func(error) bool
	}{
		"it is over": {stream, one + two + envelope(2, "{}"), 2, func(err error) bool { return err == nil }},
		"the credential lost its effect": {stream, one + revoked, 1, func(err error) bool {
			var refused *Error
			return errors.As(err, &refused) && refused.Code == CodeUnauthenticated && refused.Reason != ""
		}},
		"it was cut off between messages": {stream, one, 1, func(err error) bool { return errors.Is(err, errStreamCut) }},
		"it was cut off within one":       {stream, one + two[:9], 1, func(err error) bool { return errors.Is(err, errStreamCut) }},
		"a message of 4 GiB is announced": {stream, "\x00\xff\xff\xff\xff", 0, func(err error) bool { return err != nil }},
		"a page answered": {"text/html", "<html>", 0, func(err error) bool {
			var refused *Error
			return errors.As(err, &refused)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			told, err := watched(t, row.contentType, row.sent)
			if !row.isFine(err) {
				t.Fatal(err)
			}
			if want := []string{"SNAPSHOT 7 1", "HEARTBEAT 8 0"}[:row.told]; strings.Join(told, ",") != strings.Join(want, ",") {
				t.Fatal(told)
			}
		})
	}
}

func TestAWatchEndsWithItsContextOrItsTaker(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/connect+json")
		io.WriteString(w, envelope(0, `{"kind":"SNAPSHOT"}`))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	c, _ := client(t, server.URL)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := c.WatchIncidents(ctx, &WatchIncidentsRequest{}, func(*WatchIncidentsResponse) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	err = c.WatchIncidents(context.Background(), &WatchIncidentsRequest{}, func(*WatchIncidentsResponse) error { return enough })
	if err != enough {
		t.Fatal(err)
	}
}
