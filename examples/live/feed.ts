/**
 * The two calls that a front end needs: what to show next, and that the user has left.
 *
 * No dependencies; browsers and Node 20 or later. Every decision carries a request id and a step
 * number that are made before the first try, so that repeating a call counts nothing twice.
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
  /** Who is visiting, if that is known. */
  readonly user?: string;
  /** An API key. In a browser everybody can read it: better let your own server add it. */
  readonly key?: string;
  readonly retries?: number;
  /** Milliseconds to wait for one answer. */
  readonly timeout?: number;
}

/** The service said no; `word` says why: conflict, ended, not_found, invalid, unauthorized... */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly word: string,
    detail: string,
    /** Milliseconds after which the service wants to be asked again. */
    readonly wait = 0,
  ) {
    super(detail);
  }
}

interface Pending {
  readonly reward: number | undefined;
  readonly request: string;
}

const LATER = new Set([429, 502, 503, 504]);
const GONE = 410;
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 10_000;

/** What one user sees: a visit, and another one after it if that was over. */
export class Feed {
  #visit = crypto.randomUUID();
  #step = 0;
  #pending: Pending | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: Options) {}

  /** The id of the visit that is going on. */
  get visit(): string {
    return this.#visit;
  }

  /**
   * What to show next. `reward`, from 0 to 1, says how the user liked what was shown before.
   *
   * If it fails because no answer came, call it again: it gets the answer that was kept, or is
   * done now. A visit that has timed out meanwhile is followed by a new one.
   */
  next(reward?: number): Promise<Decision> {
    const decision = this.#last.then(() => this.#decide(reward));
    this.#last = decision.catch(() => undefined);
    return decision;
  }

  /** The user has left, perhaps after a last reward; outlives the page. */
  leave(reward?: number): Promise<void> {
    if (this.#step === 0) return Promise.resolve();
    const path = `${this.#visit}/end`;
    this.#start();
    return this.#insist("PUT", path, { reward }, true).then(() => undefined);
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
      const decision = (await this.#insist("POST", path, body)) as Decision;
      if (visit === this.#visit) {
        this.#step = decision.step;
        this.#pending = undefined;
      }
      return decision;
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== GONE) throw error;
      this.#start();
      return this.#decide();
    }
  }

  #start(): void {
    this.#visit = crypto.randomUUID();
    this.#step = 0;
    this.#pending = undefined;
  }

  async #insist(method: string, path: string, body: object, keepalive = false): Promise<unknown> {
    const retries = this.options.retries ?? 6;
    for (let tried = 0; ; tried++) {
      try {
        return await this.#once(method, path, body, keepalive);
      } catch (error) {
        const refused = error instanceof Refusal;
        if (tried >= retries || (refused && !LATER.has(error.status))) throw error;
        const longest = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** tried);
        const wait = (refused ? error.wait : 0) + longest * (0.5 + Math.random() / 2);
        await new Promise((done) => setTimeout(done, wait));
      }
    }
  }

  async #once(method: string, path: string, body: object, keepalive: boolean): Promise<unknown> {
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
    throw new Refusal(response.status, String(error), String(detail), wait);
  }
}

/** End the visit when the page goes away; a page that comes back begins another one. */
export function leaveWithPage(feed: Feed, page: EventTarget = globalThis as unknown as EventTarget) {
  page.addEventListener("pagehide", () => void feed.leave().catch(() => undefined));
}
