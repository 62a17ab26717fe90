/** JSON schemas that cost much for their length. */
import { keys, times } from "./parts.ts";

export const properties = (): string =>
  `{"type":"object","properties":{${times(Math.floor(keys / 4), (at) => `"p${at}":{"type":"string"}`)}}}`;
export const constants = (): string =>
  `{"type":"array","prefixItems":[${times(Math.floor(keys / 4), (at) => `{"const":${at}}`)}]}`;
/** Each level is its next one twice. */
export const doubling = (levels = 60): string =>
  `{"type":"object","$defs":{${times(levels, (at) => `"d${at}":{"allOf":[{"$ref":"#/$defs/d${at + 1}"},{"$ref":"#/$defs/d${at + 1}"}]}`)},"d${levels}":{"type":"object"}},"$ref":"#/$defs/d0"}`;
