/** Where the executable keeps what it has to write out to use. */
import { join } from "node:path";

export interface CachePlace {
  env: Readonly<Record<string, string | undefined>>;
  platform: string;
  /** The user's home folder. */
  home: string;
}

/** `PADDOCK_CACHE_DIR`, else a folder of its own where the platform keeps caches. */
export function cacheFolder({ env, platform, home }: CachePlace): string {
  const given = env.PADDOCK_CACHE_DIR;
  if (given !== undefined && given !== "") return given;
  if (platform === "win32") {
    return join(env.LOCALAPPDATA ?? join(home, "AppData", "Local"), "paddock", "cache");
  }
  if (platform === "darwin") return join(home, "Library", "Caches", "paddock");
  const xdg = env.XDG_CACHE_HOME;
  // The specification says to take no relative path.
  return join(xdg?.startsWith("/") === true ? xdg : join(home, ".cache"), "paddock");
}
