/** Jobs of several requests, served round robin: one of each request in turn, its largest first. */

export class JobQueue<Job> {
  /** Each request's jobs, smallest first, so that the largest is popped. */
  readonly #requests: Job[][] = [];

  /** Adds a request's jobs. */
  add(jobs: readonly Job[], sizeOf: (job: Job) => number): void {
    if (jobs.length > 0) this.#requests.push(jobs.toSorted((a, b) => sizeOf(a) - sizeOf(b)));
  }

  get empty(): boolean {
    return this.#requests.length === 0;
  }

  next(): Job | undefined {
    const jobs = this.#requests.shift();
    const job = jobs?.pop();
    if (jobs !== undefined && jobs.length > 0) this.#requests.push(jobs);
    return job;
  }
}
