/** A webhook as the API returns it. */
export type Webhook = {
  id: string;
  url: string;
  events: string[];
  description: string | null;
  ordered: boolean;
  status: string;
  pause_reason: string | null;
  /** The last one. */
  replay?: { events: number; done: number; ended_at: string | null; reason: string | null } | null;
  last_24_hours?: { ended: number; success_rate: number | null };
  created_at: string;
};

/** A delivery as the API returns it. */
export type Delivery = {
  id: string;
  event_id: string;
  type: string;
  status: string;
  reason: string | null;
  response_status?: number | null;
  next_attempt_at: string | null;
  request: { body: string | null; reason: string | null };
  attempts: {
    started_at: string;
    duration_ms: number;
    response: { status: number; body: string | null } | null;
    error: string | null;
  }[];
  created_at: string;
};
