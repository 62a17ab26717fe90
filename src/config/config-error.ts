/** An invalid configuration. The message names the place, the key, the value and what is valid. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
