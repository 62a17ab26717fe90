/** A configuration that cannot be used; the message names where, which key, what was found and what is allowed. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
