/**
 * The two calls that a front end needs: what to show next, and that the user has left.
 *
 * No dependencies; browsers and Node 20 or later. Every decision has a request id and a step number,
 * made before the first attempt, so that a retry counts nothing twice.
 */

export interface Decision {
  readonly id: string;
  readonly visit: string;
  readonly step: number;
  /** The name of the arm to show. */
  readonly arm: string;
  /** What the policy saw of the user's experience, from 0 to 1. */
  readonly state: number;
  readonly propensity: number | null;
}

export interface Options {
  /** The address of the service, such as https://experiment.example.com. */
  readonly url: string;
  readonly experiment: string;
  /** Who is visiting, if known. */
  readonly user?: string;
  /** An API key. In a browser every user can read it: let your own server add it instead. */
  readonly key?: string;
  readonly retries?: number;
  /** Milliseconds to wait for one response. */
  readonly timeout?: number;
}

/** An error response; `code` is conflict, ended, not_found, invalid, unauthorized... */
export class ServiceError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    /** Retry-After, in milliseconds. */
    readonly wait = 0,
  ) {
    super(detail);
  }
}

interface Pending {
  readonly reward: number | undefined;
  readonly request: string;
}

const RETRY_STATUSES = new Set([429, 502, 503, 504]);
const ENDED = 410;
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 10_000;

/** The visits of one user: when one is over, the next decision opens another. */
export class Feed {
  #visit = crypto.randomUUID();
  #step = 0;
  #pending: Pending | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: Options) {}

  /** The id of the current visit. */
  get visit(): string {
    return this.#visit;
  }

  /**
   * What to show next; `reward`, from 0 to 1, is that of what was shown before.
   *
   * If it fails without a response, call it again: it gets the decision that was made, or makes it
   * now. A visit that has timed out meanwhile is followed by a new one.
   */
  next(reward?: number): Promise<Decision> {
    const decision = this.#last.then(() => this.#decide(reward));
    this.#last = decision.catch(() => undefined);
    return decision;
  }

  /** The user has left, perhaps after a last reward; the request outlives the page. */
  leave(reward?: number): Promise<void> {
    if (this.#step === 0) return Promise.resolve();
    const path = `${this.#visit}/end`;
    this.#start();
    return this.#call("PUT", path, { reward }, true).then(() => undefined);
  }

  async #decide(reward?: number): Promise<Decision> {
    if (this.#pending === undefined || this.#pending.reward !== reward) {
      this.#pending = { reward, request: crypto.randomUUID() };
    }
    const body = {
      request_id: this.#pending.request,
      step: this.#step + 1,
      open: this.options.user === undefined ? {} : { user: this.options.user },
      reward: this.#step === 0 ? undefined : reward,
    };
    const visit = this.#visit;
    const path = `${visit}/${body.reward === undefined ? "decisions" : "step"}`;
    try {
      const decision = (await this.#call("POST", path, body)) as Decision;
      if (visit === this.#visit) {
        this.#step = decision.step;
        this.#pending = undefined;
      }
      return decision;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.status !== ENDED) throw error;
      this.#start();
      return this.#decide();
    }
  }

  #start(): void {
    this.#visit = crypto.randomUUID();
    this.#step = 0;
    this.#pending = undefined;
  }

  async #call(method: string, path: string, body: object, keepalive = false): Promise<unknown> {
    const retries = this.options.retries ?? 6;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#send(method, path, body, keepalive);
      } catch (error) {
        const answered = error instanceof ServiceError;
        if (attempt >= retries || (answered && !RETRY_STATUSES.has(error.status))) throw error;
        const longest = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempt);
        const wait = (answered ? error.wait : 0) + longest * (0.5 + Math.random() / 2);
        await new Promise((done) => setTimeout(done, wait));
      }
    }
  }

  async #send(method: string, path: string, body: object, keepalive: boolean): Promise<unknown> {
    const { url, experiment, key, timeout = 10_000 } = this.options;
    const base = `${url.replace(/\/$/, "")}/v1/experiments/${encodeURIComponent(experiment)}`;
    const response = await fetch(`${base}/visits/${path}`, {
      method,
      keepalive,
      headers: {
        "content-type": "application/json",
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeout),
    });
    const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
    if (response.ok) return answer;
    const { error = "failed", detail = `status ${response.status}` } = answer;
    const wait = Math.min(Number(response.headers.get("retry-after")) * 1000 || 0, LONGEST_PAUSE);
    throw new ServiceError(response.status, String(error), String(detail), wait);
  }
}

/** End the visit when the page is left; a page that comes back begins another one. */
export function leaveWithPage(feed: Feed, page: EventTarget = globalThis as unknown as EventTarget) {
  page.addEventListener("pagehide", () => void feed.leave().catch(() => undefined));
}
