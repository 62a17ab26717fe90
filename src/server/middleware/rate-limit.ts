/** The way in to every operation that costs something: who asks, whether they may, and how much. */
import type { Scope } from "../../core/limits/api-key.ts";
import {
  type CallerLimits,
  type LimitedCaller,
  noLimits,
  type RateLimiter,
} from "../../core/limits/rate-limiter.ts";
import type { Connections } from "../connections.ts";
import type { Access } from "./authentication.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";

/** A request that was let in; disposed of when its answer has ended, which gives its place back. */
export interface Visit extends Disposable {
  /** Who asks, as a name that is no secret. */
  readonly caller: string;
  /** Whose evaluated prompts this one may share; absent: those of all who have none. */
  readonly prefixScope: string | undefined;
  /** Whether what the answer uses is counted. */
  readonly countsTokens: boolean;
  /** Refuses a request that turns out to want more than was checked. */
  require(...wanted: readonly Scope[]): void;
  /** Takes a place for each of the answers that the request turns out to be for; or refuses it. */
  widen(answers: number): void;
  charge(tokens: number): void;
}

export interface EntranceOptions {
  access: Access;
  limiter: RateLimiter;
  connections: Connections;
  /** For callers who have none of their own. */
  limits: CallerLimits;
  /** Most requests in progress from one address; 0: no bound. */
  connectionsPerClient: number;
  /** Whether keys share the evaluated beginnings of their prompts. */
  sharePrefixes: boolean;
}

type Headers = Record<string, string | number>;

/** A proxy on this machine asks for many. */
const loopback = /^(127\.|0:0:0:0::\/64$)/;

export class Entrance {
  readonly #options: EntranceOptions;

  constructor(options: EntranceOptions) {
    this.#options = options;
  }

  /** Lets a request in or refuses it; writes into the headers what the caller has left. */
  admit(request: Request, headers: Headers, ...wanted: readonly Scope[]): Visit {
    const { access, limiter, connections, sharePrefixes } = this.#options;
    const caller = this.#identify(request, wanted);
    const tell = () => Object.assign(headers, rateLimitHeaders(limiter.status(caller)));
    using places = new DisposableStack();
    try {
      const client = this.#clientOf(request);
      if (client !== undefined) places.use(limiter.acquire(client));
      places.use(limiter.acquire(caller));
    } finally {
      tell();
    }
    places.defer(() => connections.ended(request));
    // Kept until what was asked for has ended, also where the client left before: the model is still at it.
    const held = places.move();
    return {
      caller: caller.id,
      prefixScope: caller.hasKey && !sharePrefixes ? caller.id : undefined,
      countsTokens: caller.limits.tokensPerMinute > 0,
      require: (...more) => void access.check(request, ...wanted, ...more),
      widen: (answers) => {
        // What has ended holds no places any more.
        if (!held.disposed) held.use(limiter.acquireFor(answers, caller));
      },
      charge: (tokens) => {
        limiter.charge(caller, tokens);
        tell();
      },
      [Symbol.dispose]: () => held.dispose(),
    };
  }

  #identify(request: Request, wanted: readonly Scope[]): LimitedCaller & { hasKey: boolean } {
    const { access, connections, limits: defaults } = this.#options;
    const { id, called, limits } = access.check(request, ...wanted);
    return {
      id: id === undefined ? `anyone ${connections.clientOf(request) ?? ""}`.trim() : `key ${id}`,
      called,
      hasKey: id !== undefined,
      limits: { ...defaults, ...limits },
    };
  }

  #clientOf(request: Request): LimitedCaller | undefined {
    const { connections, connectionsPerClient } = this.#options;
    const client = connections.clientOf(request);
    if (connectionsPerClient === 0 || client === undefined || loopback.test(client))
      return undefined;
    return {
      id: `address ${client}`,
      called: "A client's address",
      limits: { ...noLimits, concurrency: connectionsPerClient },
    };
  }
}
