/** `paddock keys share`: the keys of this node's file come to count for all nodes. */
import { Command } from "commander";
import { NodeError } from "../../core/errors.ts";
import { toSharedServer } from "../../node/node-settings.ts";
import { readConfig } from "../configure.ts";
import { addExamples } from "../examples.ts";
import type { Shell } from "../shell.ts";
import { openOwnKeys, openSharedKeys } from "./key-store.ts";

export function share(shell: Shell): Command {
  const command = new Command("share").description(
    "have the keys of the data dir count for all nodes of [shared]; can be repeated",
  );
  addExamples(command, "paddock keys share");
  return command.action(async () => {
    const config = await readConfig(shell, command);
    const server = toSharedServer(config);
    if (server === undefined) {
      throw new NodeError(
        "invalid_request",
        "There is nobody to share keys with: set [shared] redis (or PADDOCK_SHARED_REDIS) first.",
      );
    }
    using own = openOwnKeys(config, shell.cwd);
    using shared = await openSharedKeys(server);
    const records = own.keys.records();
    const { added, taken } = await shared.keys.add(records);
    const known = records.length - added - taken.length;
    shell.print(`Shared ${added} of ${records.length} keys; ${known} were shared before.\n`);
    if (taken.length === 0) return;
    throw new NodeError(
      "invalid_request",
      `Other keys have these names there: '${taken.join("', '")}'. Give those holders new keys ('paddock keys create'): a name belongs to one key.`,
    );
  });
}
