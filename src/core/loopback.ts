/** Addresses that only this machine can reach. */

/** Of a host as it is configured, or as a URL has it: `localhost`, `127.0.0.1`, `::1`, `[::1]`. */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/.test(host);
