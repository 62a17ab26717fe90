/** The node that runs with a command's data dir, for commands that use it instead of a node of their own. */
import type { Config } from "../config/schema.ts";
import { dataDirOf } from "../node/node-settings.ts";
import { findNodes } from "../node/running-node.ts";
import { ChatServer } from "./remote-server.ts";
import { CommandError, type Shell } from "./shell.ts";

export interface FoundNode {
  address: string;
  server: ChatServer;
}

export async function findRunningNode(
  shell: Shell,
  config: Config,
): Promise<FoundNode | undefined> {
  const { here } = await findNodes(dataDirOf(config, shell.cwd), shell.processes);
  const [first] = here;
  return first && serverAt(shell, first.address);
}

export const serverAt = ({ env }: Pick<Shell, "env">, address: string): FoundNode => ({
  address,
  server: new ChatServer({ url: address, key: env.PADDOCK_KEY || undefined }),
});

export const noNode = (dataDir: string): CommandError =>
  new CommandError(
    `No node runs with the data dir ${dataDir}. Start one with 'paddock serve', or name the data dir of the one that runs: --data-dir.`,
  );
