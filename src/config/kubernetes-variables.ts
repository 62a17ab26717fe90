/**
 * Variables that Kubernetes sets in every pod for each Service of its namespace, under the Service's
 * name: one called `paddock` would otherwise be taken for settings of the node.
 */

type Environment = Readonly<Record<string, string | undefined>>;

const address = /^[0-9a-f]*[.:][0-9a-f.:]+$/i;
const number = /^\d+$/;
const link = /^(tcp|udp|sctp):\/\/\S+:\d+$/i;
const protocol = /^(tcp|udp|sctp)$/i;

/** What follows the Service's name, and what its value looks like. Both must fit. */
const forms: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [/_SERVICE_HOST$/, address],
  [/_SERVICE_PORT(_[A-Z0-9_]+)?$/, number],
  [/_PORT$/, link],
  [/_PORT_\d+_(TCP|UDP|SCTP)$/, link],
  [/_PORT_\d+_(TCP|UDP|SCTP)_PROTO$/, protocol],
  [/_PORT_\d+_(TCP|UDP|SCTP)_PORT$/, number],
  [/_PORT_\d+_(TCP|UDP|SCTP)_ADDR$/, address],
];

/** The names of those that are there; they say nothing of this node's configuration. */
export const serviceVariables = (env: Environment): string[] =>
  Object.entries(env).flatMap(([name, value = ""]) =>
    name.startsWith("PADDOCK_") &&
    forms.some(([ending, form]) => ending.test(name) && form.test(value))
      ? [name]
      : [],
  );
