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
  /** The service was away: the best arm of the last ranking, which is no step of the visit (0). */
  readonly fallback: boolean;
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
  /** Milliseconds that a call may take: then the best arm of the last ranking is shown. */
  readonly fallback?: number;
  /** Arms for the fallback, best first, until the service has told its own. */
  readonly ranking?: readonly string[];
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
const SHORTEST_TIMEOUT = 10;
const AWAY_PAUSE = 5_000; // without calls after one that failed
const REFRESH = 60_000; // after which a ranking is asked for again

/** The visits of one user: when one is over, the next decision opens another. */
export class Feed {
  #visit = crypto.randomUUID();
  #step = 0;
  #state = 1;
  #pending: Pending | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #fellBack = false;
  #awayUntil = 0;
  #ranking: readonly string[];
  #ranked: number;

  constructor(private readonly options: Options) {
    this.#ranking = options.ranking ?? [];
    this.#ranked = this.#ranking.length > 0 ? performance.now() : -Infinity;
  }

  /** The id of the current visit. */
  get visit(): string {
    return this.#visit;
  }

  /** The arms, best first, as of the last answer that told: a `ranking` for the next page. */
  get ranking(): readonly string[] {
    return this.#ranking;
  }

  /**
   * What to show next; `reward`, from 0 to 1, is that of what was shown before.
   *
   * If it fails without a response, call it again: it gets the decision that was made, or makes it
   * now. A visit that has timed out meanwhile is followed by a new one.
   *
   * With a fallback it does not fail while the service is away, once a ranking is known. The reward
   * of what a fallback has shown is not sent: what had no answer is asked again.
   */
  next(reward?: number): Promise<Decision> {
    const decision = this.#last.then(() => this.#decide(reward));
    this.#last = decision.catch(() => undefined);
    return decision;
  }

  /** The user has left, perhaps after a last reward; the request outlives the page. */
  leave(reward?: number): Promise<void> {
    if (this.#step === 0) return Promise.resolve();
    const path = `visits/${this.#visit}/end`;
    const body = { reward: this.#fellBack ? undefined : reward };
    this.#start();
    return this.#ask("PUT", path, body, true).then(
      () => undefined,
      (error) => {
        if (!this.#mayFallBack(error)) throw error; // the idle timeout will end the visit
      },
    );
  }

  async #decide(reward?: number): Promise<Decision> {
    if (this.#fellBack) reward = this.#pending?.reward;
    if (this.#pending === undefined || this.#pending.reward !== reward) {
      this.#pending = { reward, request: crypto.randomUUID() };
    }
    const body = {
      request: this.#pending.request,
      step: this.#step + 1,
      opening: this.options.user === undefined ? {} : { user: this.options.user },
      reward: this.#step === 0 ? undefined : reward,
    };
    const visit = this.#visit;
    const path = `visits/${visit}/${body.reward === undefined ? "decisions" : "step"}`;
    try {
      const answer = (await this.#ask("POST", path, body)) as Decision;
      if (visit === this.#visit) {
        this.#step = answer.step;
        this.#state = answer.state;
        this.#pending = undefined;
        this.#fellBack = false;
      }
      return { ...answer, fallback: false };
    } catch (error) {
      if (error instanceof ServiceError && error.status === ENDED) {
        this.#start();
        return this.#decide();
      }
      const arm = this.#ranking[0];
      if (arm === undefined || !this.#mayFallBack(error)) throw error;
      if (visit === this.#visit) this.#fellBack = true;
      const id = `${visit}:0`;
      return { id, visit, step: 0, arm, state: this.#state, propensity: null, fallback: true };
    }
  }

  /** Whether there is a fallback, and this error says that the service is away. */
  #mayFallBack(error: unknown): boolean {
    return this.options.fallback !== undefined && isAway(error);
  }

  #start(): void {
    this.#visit = crypto.randomUUID();
    this.#step = 0;
    this.#state = 1;
    this.#pending = undefined;
    this.#fellBack = false;
  }

  /** A call; if there is a fallback, within its time, and not at all just after one that failed. */
  async #ask(method: string, path: string, body: object, keepalive = false): Promise<unknown> {
    if (this.options.fallback === undefined) return this.#call(method, path, body, keepalive);
    const now = performance.now();
    if (now < this.#awayUntil) throw new Error("the service did not answer a moment ago");
    try {
      const answer = await this.#call(method, path, body, keepalive, now + this.options.fallback);
      void this.#refresh();
      return answer;
    } catch (error) {
      if (isAway(error)) {
        this.#awayUntil = performance.now() + AWAY_PAUSE * (0.5 + Math.random() / 2);
      }
      throw error;
    }
  }

  /** Ask for the ranking again, in the background and now and then. */
  async #refresh(): Promise<void> {
    const now = performance.now();
    if (now - this.#ranked < REFRESH) return;
    this.#ranked = now;
    try {
      this.#ranking = ((await this.#send("GET", "ranking")) as { arms: string[] }).arms;
    } catch {
      // the ranking that is known will do
    }
  }

  async #call(
    method: string,
    path: string,
    body: object,
    keepalive: boolean,
    deadline = Infinity,
  ): Promise<unknown> {
    const retries = this.options.retries ?? 6;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#send(method, path, body, keepalive, deadline - performance.now());
      } catch (error) {
        const answered = error instanceof ServiceError;
        if (attempt >= retries || (answered && !RETRY_STATUSES.has(error.status))) throw error;
        const longest = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempt);
        const wait = (answered ? error.wait : 0) + longest * (0.5 + Math.random() / 2);
        if (performance.now() + wait >= deadline) throw error;
        await new Promise((done) => setTimeout(done, wait));
      }
    }
  }

  async #send(
    method: string,
    path: string,
    body?: object,
    keepalive = false,
    limit = Infinity,
  ): Promise<unknown> {
    const { url, experiment, key, timeout = 10_000 } = this.options;
    const base = `${url.replace(/\/$/, "")}/v1/experiments/${encodeURIComponent(experiment)}`;
    const response = await fetch(`${base}/${path}`, {
      method,
      keepalive,
      headers: {
        "content-type": "application/json",
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(Math.max(Math.ceil(Math.min(timeout, limit)), SHORTEST_TIMEOUT)),
    });
    const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
    if (response.ok) return answer;
    const { error = "failed", detail = `status ${response.status}` } = answer;
    const wait = Math.min(Number(response.headers.get("retry-after")) * 1000 || 0, LONGEST_PAUSE);
    throw new ServiceError(response.status, String(error), String(detail), wait);
  }
}

/** No answer, or one that asks to try again later. */
function isAway(error: unknown): boolean {
  return !(error instanceof ServiceError) || error.status === 429 || error.status >= 500;
}

/** End the visit when the page is left; a page that comes back begins another one. */
export function leaveWithPage(feed: Feed, page: EventTarget = globalThis as unknown as EventTarget) {
  page.addEventListener("pagehide", () => void feed.leave().catch(() => undefined));
}
