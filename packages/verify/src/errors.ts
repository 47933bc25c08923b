type Challenge = {
  scheme?: 'Bearer' | 'DPoP';
  /** Of the challenge, in their order; `error` and `error_description` come first. */
  parameters?: Readonly<Record<string, string>>;
  cause?: unknown;
};

/** A request that is refused. Send its status, headers and, as JSON, its body. */
export class VerifyError extends Error {
  override readonly name = 'VerifyError';
  readonly status: 401 | 403 | 503;
  /** An error code of RFC 6750 §3.1, RFC 9449 §7.1 or RFC 9470 §3; `unauthorized` and `temporarily_unavailable` are in the body alone. */
  readonly error: string;
  readonly challenge: Required<Omit<Challenge, 'cause'>>;

  constructor(status: 401 | 403 | 503, error: string, description: string, challenge: Challenge = {}) {
    super(description, { cause: challenge.cause });
    this.status = status;
    this.error = error;
    this.challenge = { scheme: challenge.scheme ?? 'Bearer', parameters: challenge.parameters ?? {} };
  }

  get headers(): Record<string, string> {
    if (this.status === 503) return { 'retry-after': '5' };
    const { scheme, parameters } = this.challenge;
    const all = {
      // RFC 6750 §3.1: a challenge to a request without a credential has no error.
      ...(this.error === 'unauthorized' ? {} : { error: this.error, error_description: this.message }),
      ...parameters,
    };
    const quoted = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
    return { 'www-authenticate': `${scheme} ${quoted.join(', ')}` };
  }

  get body(): { error: string; error_description: string } {
    return { error: this.error, error_description: this.message };
  }
}

export function invalidToken(description: string, cause?: unknown): VerifyError {
  return new VerifyError(401, 'invalid_token', description, { cause });
}

export function temporarilyUnavailable(description: string, cause?: unknown): VerifyError {
  return new VerifyError(503, 'temporarily_unavailable', description, { cause });
}
