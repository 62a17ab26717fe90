/** The folder that the executable unpacks its native libraries to. */
import { join } from "node:path";

export interface CachePlace {
  env: Readonly<Record<string, string | undefined>>;
  platform: string;
  /** The user's home folder. */
  home: string;
}

/** `PADDOCK_CACHE_DIR`, else a folder in the platform's cache folder. */
export function cacheFolder({ env, platform, home }: CachePlace): string {
  const given = env.PADDOCK_CACHE_DIR;
  if (given !== undefined && given !== "") return given;
  if (platform === "win32") {
    return join(env.LOCALAPPDATA ?? join(home, "AppData", "Local"), "paddock", "cache");
  }
  if (platform === "darwin") return join(home, "Library", "Caches", "paddock");
  const xdg = env.XDG_CACHE_HOME;
  // The XDG specification says that a relative path is invalid.
  return join(xdg?.startsWith("/") === true ? xdg : join(home, ".cache"), "paddock");
}
