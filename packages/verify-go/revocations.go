package verify

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxRevocations takes about 70 MB.
	maxRevocations = 500_000
	// clockDifference is the greatest difference between the clocks of the issuer and of this machine, in seconds.
	clockDifference = 60
)

// revocation is an entry of the feed. Credentials of a subject or client with a lower epoch are revoked; without it, all are.
type revocation struct {
	Kind  string   `json:"kind"`
	ID    string   `json:"id"`
	Epoch *float64 `json:"epoch"`
	Until float64  `json:"until"`
}

type revoked struct{ kind, id string }

// mark is the latest knowledge about something revoked; number orders the entries as they came.
type mark struct {
	epoch, until, added float64
	number              int64
}

// identity has the ids and epochs that revocations of a credential name, kid of the key that signed it. issued is in seconds since the epoch.
type identity struct {
	id, grant, client, person, kid    string
	clientEpoch, subjectEpoch, issued float64
}

// revocationSet holds the revocations in force.
type revocationSet struct {
	mu       sync.RWMutex
	capacity int
	marks    map[revoked]mark
	count    atomic.Int64
	// refusedUntil: credentials issued up to this time are refused, since an entry about them may have been dropped.
	refusedUntil float64
	// outdated is the count up to which API keys are resolved again: an entry about them may have been dropped, or the API
	// was registered again.
	outdated   atomic.Int64
	registered time.Time
}

func (s *revocationSet) add(entry revocation, now time.Time) {
	isKnown := slices.Contains([]string{"token", "grant", "subject", "client", "key"}, entry.Kind)
	if !isKnown || entry.ID == "" || entry.Until <= seconds(now) {
		return
	}
	epoch := math.Inf(1)
	if entry.Epoch != nil {
		epoch = *entry.Epoch
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := revoked{entry.Kind, entry.ID}
	known := s.marks[name]
	s.marks[name] = mark{max(epoch, known.epoch), max(entry.Until, known.until), seconds(now), s.count.Add(1)}
	if len(s.marks) > s.capacity {
		s.trim(now, int64(s.capacity)*9/10)
	}
}

func (s *revocationSet) sweep(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trim(now, s.count.Load())
}

// trim drops expired entries, and the oldest beyond the latest that it keeps.
func (s *revocationSet) trim(now time.Time, keep int64) {
	for name, m := range s.marks {
		isExpired := m.until <= seconds(now)
		// Somebody who has a withdrawn signing key chooses the time of issue.
		if !isExpired && (name.kind == "key" || m.number > s.count.Load()-keep) {
			continue
		}
		if delete(s.marks, name); !isExpired {
			s.refusedUntil = max(s.refusedUntil, m.added+clockDifference)
			s.outdated.Store(s.count.Load())
		}
	}
}

// refuseIssuedBefore refuses the credentials of an earlier registration of the API, which was made at another time.
func (s *revocationSet) refuseIssuedBefore(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusedUntil = max(s.refusedUntil, float64(t.Unix()-1))
	if !t.Equal(s.registered) {
		s.registered = t
		s.outdated.Store(s.count.Add(1))
	}
}

// outdates says whether an API key must be resolved again that was resolved at this count.
func (s *revocationSet) outdates(i *identity, number int64) bool {
	// In this order: what is dropped in between is outdated by then.
	return s.revokes(i, number) || number < s.outdated.Load()
}

// revokes says whether an entry that came after this number is about a credential.
func (s *revocationSet) revokes(i *identity, after int64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	hits := func(kind, id string, epoch float64) bool {
		m, found := s.marks[revoked{kind, id}]
		return found && epoch < m.epoch && m.number > after
	}
	return i.issued <= s.refusedUntil || hits("token", i.id, 0) || hits("grant", i.grant, 0) ||
		hits("client", i.client, i.clientEpoch) || hits("subject", i.person, i.subjectEpoch) || hits("key", i.kid, 0)
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
