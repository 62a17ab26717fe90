/** Whether the server that several nodes share can be used, and what the node does not share with them. */
import { reasonOf } from "../../core/errors.ts";
import { toSharedServer } from "../../node/node-settings.ts";
import { openSharedKeys } from "../keys/key-store.ts";
import { type Finding, note, ok, problem } from "./finding.ts";
import type { Installation } from "./installation.ts";

const check = "shared";

export async function checkShared({ config, dataDir }: Installation): Promise<Finding[]> {
  const server = toSharedServer(config);
  if (server === undefined) return [];
  const { embeddedCollection, sharingNotices } = await import("../../node/gateway/shared-state.ts");
  const toNote = ({ message, remedy }: { message: string; remedy: string }): Finding =>
    note(check, `${message[0]?.toUpperCase()}${message.slice(1)}.`, remedy);
  try {
    using opened = await openSharedKeys(server);
    const known = await opened.keys.read();
    const facts = await opened.serverFacts();
    const shared = { isKnown: true, size: known.size, has: (id: string) => known.has(id) };
    const keys = `${known.size === 1 ? "one key is" : `${known.size} keys are`} shared`;
    return [
      ok(check, `Redis ${facts.version} at ${opened.address} answers; ${keys}.`),
      ...(facts.evictsKeys
        ? [
            note(
              check,
              `It may drop keys where memory is short (maxmemory-policy ${facts.evictionPolicy}).`,
              "Set its maxmemory-policy to noeviction, or to one of volatile-*.",
            ),
          ]
        : []),
      ...sharingNotices(config, dataDir, shared).map(toNote),
    ];
  } catch (error) {
    const remedy =
      "Start the server, or correct PADDOCK_SHARED_REDIS ([shared] redis) and PADDOCK_SHARED_PASSWORD. Until then a node that starts knows no key.";
    return [problem(check, reasonOf(error), remedy), ...embeddedCollection(config).map(toNote)];
  }
}
