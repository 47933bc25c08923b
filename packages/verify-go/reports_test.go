package verify

import (
	"encoding/json"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

const noRefusals = `{"person":0,"machine":0,"key":0,"refused":[]}`

// reporting is a timing with reports every few milliseconds.
var reporting = timing{fast.pause, fast.maxPause, fast.refusedPause, fast.idle, 20 * time.Millisecond}

// isJSON compares a text with the JSON that is wanted.
func isJSON(text, wanted string) bool {
	var a, b any
	return json.Unmarshal([]byte(text), &a) == nil && json.Unmarshal([]byte(wanted), &b) == nil && reflect.DeepEqual(a, b)
}

func withPersons(count string) string {
	return strings.Replace(noRefusals, `"person":0`, `"person":`+count, 1)
}

func TestReportsCountRequests(t *testing.T) {
	i := startIssuer(t)
	v, _ := startVerifier(t, i, nil)
	key := keyPrefix + strings.Repeat("k", 54)
	key += checksumOf(key)
	i.mu.Lock()
	i.active[key] = map[string]any{"active": true, "aud": audience, "client_id": "cli_7"}
	i.mu.Unlock()
	person, machine := i.token("k1", nil), i.token("k1", map[string]any{"sub": "cli_1"})
	for _, token := range []string{person, person, machine, key, "x", "x"} {
		statusOf(v, "Bearer "+token)
	}
	r := httptest.NewRequest("GET", audience, nil)
	r.Header.Set("Authorization", "Bearer "+person)
	if _, err := v.Verify(r, Needs{Scopes: []string{"notes:write"}}); err == nil {
		t.Error("the scope was not granted")
	}
	if sent := i.reportBodies(); len(sent) > 0 {
		t.Error("a request has waited for a report:", sent)
	}
	v.Close()
	path := "/api/v1/resources/rsr_1/verifiers/" + v.feed.id + "/report"
	invalid, scope := `{"status":401,"error":"invalid_token","count":2}`, `{"status":403,"error":"insufficient_scope","count":1}`
	counts := `{"requests":{"person":2,"machine":1,"key":1,"refused":[`
	if len(i.reports) != 1 {
		t.Fatal(i.reports)
	}
	report := i.reports[0]
	isEither := isJSON(report[1], counts+invalid+","+scope+`]}}`) || isJSON(report[1], counts+scope+","+invalid+`]}}`)
	if report[0] != path || !isEither {
		t.Error(report)
	}
}

func TestWhatCouldNotBeSentIsInTheNextReport(t *testing.T) {
	i := startIssuer(t)
	i.change(func() { i.reportStatus = 500 })
	v, _ := startVerifierAt(t, i, reporting, nil)
	bearer := "Bearer " + i.token("k1", nil)
	statusOf(v, bearer)
	eventually(t, "two attempts", func() bool { return len(i.reportBodies()) > 1 })
	i.change(func() { i.reportStatus = 204 })
	statusOf(v, bearer)
	time.Sleep(100 * time.Millisecond)
	sent := i.reportBodies()
	if !isJSON(sent[0], `{"requests":`+withPersons("1")+`}`) || !isJSON(sent[len(sent)-1], `{"requests":`+withPersons("2")+`}`) {
		t.Error(sent)
	}
	time.Sleep(100 * time.Millisecond)
	if more := len(i.reportBodies()); more != len(sent) {
		t.Error("nothing is new, and there were", more-len(sent), "reports")
	}
}

func TestIssuerWithoutReportsGetsNoneUntilTheNextConnection(t *testing.T) {
	for _, status := range []int{403, 404} {
		i := startIssuer(t)
		i.change(func() { i.reportStatus = status })
		v, _ := startVerifierAt(t, i, reporting, nil)
		statusOf(v, "Bearer "+i.token("k1", nil))
		eventually(t, "a report", func() bool { return len(i.reportBodies()) == 1 })
		i.revoke("token", testPrefix+"1")
		time.Sleep(100 * time.Millisecond)
		if sent := i.reportBodies(); len(sent) != 1 {
			t.Error(status, sent)
		}
		i.CloseClientConnections()
		eventually(t, "another report", func() bool { return len(i.reportBodies()) == 2 })
	}
}

func TestRevocationOfATestWaitsForTheReportUnderWayAlone(t *testing.T) {
	i := startIssuer(t)
	startVerifier(t, i, nil)
	hold := make(chan struct{})
	i.change(func() { i.holdReports = hold })
	i.revoke("token", "jti_9")
	i.revoke("token", testPrefix+"1")
	eventually(t, "a report", func() bool { return len(i.reportBodies()) > 0 })
	i.revoke("token", testPrefix+"2")
	i.revoke("token", testPrefix+"3")
	time.Sleep(100 * time.Millisecond)
	if sent := i.reportBodies(); len(sent) != 1 || !isJSON(sent[0], `{"applied":"`+testPrefix+`1","requests":`+noRefusals+`}`) {
		t.Error(sent)
	}
	close(hold)
	eventually(t, "the last test", func() bool {
		sent := i.reportBodies()
		return len(sent) == 2 && strings.Contains(sent[1], testPrefix+"3")
	})
}

func TestCloseWaitsForAReportNotForLong(t *testing.T) {
	i := startIssuer(t)
	v, _ := startVerifier(t, i, nil)
	hold := make(chan struct{})
	defer close(hold)
	i.change(func() { i.holdReports = hold })
	i.revoke("token", testPrefix+"1")
	eventually(t, "a report", func() bool { return len(i.reportBodies()) > 0 })
	statusOf(v, "Bearer "+i.token("k1", nil))
	start := time.Now()
	v.Close()
	if passed := time.Since(start); passed < time.Second || passed > 2*time.Second {
		t.Error(passed)
	}
}
