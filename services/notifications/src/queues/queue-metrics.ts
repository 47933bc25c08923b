import type { MetricFamily, MetricSample } from '@gatehouse/core/metrics-text';
import type { Depth } from '@gatehouse/events/job-queue';
import type { LaneStatus } from './queue-service.ts';

/** The figures of all queues, for /metrics. */
export function queueMetrics(lanes: readonly LaneStatus[]): MetricFamily[] {
  const gauge = (name: string, help: string, samples: readonly MetricSample[]): MetricFamily => ({
    name,
    help,
    type: 'gauge',
    samples,
  });
  const ofParts = (name: string, help: string, figureOf: (part: Depth) => number) =>
    gauge(
      name,
      help,
      lanes.flatMap(({ queue, depth }) =>
        depth.map((part) => ({
          labels: { queue, lane: part.lane, priority: part.priority },
          value: figureOf(part),
        })),
      ),
    );
  return [
    ofParts('gatehouse_jobs_waiting', 'Jobs that no worker has taken yet.', ({ waiting }) => waiting),
    ofParts(
      'gatehouse_jobs_in_flight',
      'Jobs that are running, or wait for their next attempt.',
      ({ inFlight }) => inFlight,
    ),
    ofParts(
      'gatehouse_jobs_oldest_seconds',
      'The age of the oldest job that is waiting or in flight.',
      ({ oldestMs }) => oldestMs / 1000,
    ),
    ofParts('gatehouse_dead_letters', 'Jobs whose attempts all failed.', ({ deadLetters }) => deadLetters),
    gauge(
      'gatehouse_lane_paused',
      'Whether an operator has paused the lane.',
      lanes.map(({ queue, lane, paused }) => ({ labels: { queue, lane }, value: Number(paused) })),
    ),
    gauge(
      'gatehouse_lane_failing',
      'Whether the provider of the lane is failing, so that its jobs wait, as seen by this process.',
      lanes.map(({ queue, lane, failing }) => ({
        labels: { queue, lane },
        value: Number(failing !== undefined),
      })),
    ),
    // Without the name of the owner: only admins see it, and each owner would be a series.
    gauge(
      'gatehouse_lane_top_owner_slot_seconds',
      'The time for which the jobs of the owner with the most were worked on in the last hour or so, by this process.',
      lanes.map(({ queue, lane, slotTimes: [first] }) => ({
        labels: { queue, lane },
        value: (first?.ms ?? 0) / 1000,
      })),
    ),
    {
      name: 'gatehouse_job_attempts_total',
      help: 'Attempts by their outcome. A postponed attempt does not use up one of the attempts of its job.',
      type: 'counter',
      samples: lanes.flatMap(({ queue, lane, outcomes }) =>
        Object.entries(outcomes).map(([outcome, value]) => ({ labels: { queue, lane, outcome }, value })),
      ),
    },
  ];
}
