/** String formats as patterns that generate only valid members of them. */

const hour = "([01][0-9]|2[0-3])";
const minute = "[0-5][0-9]";
const time = `${hour}:${minute}:${minute}(\\.[0-9]{1,3})?(Z|[+-]${hour}:${minute})`;
// Every month has a day 28.
const date = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])";
const label = "[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?";
const hostname = `${label}(\\.${label}){0,3}`;
const byte = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";

export const stringFormats: Readonly<Record<string, string>> = {
  "date-time": `^${date}T${time}$`,
  date: `^${date}$`,
  time: `^${time}$`,
  duration: "^P([1-9][0-9]{0,3}[YMWD]|T[1-9][0-9]{0,3}[HMS])$",
  uuid: "^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
  email: `^[a-z0-9]{1,16}([._+-][a-z0-9]{1,16}){0,2}@${label}\\.${label}(\\.${label})?$`,
  hostname: `^${hostname}$`,
  ipv4: `^${byte}(\\.${byte}){3}$`,
  ipv6: "^[0-9a-f]{1,4}(:[0-9a-f]{1,4}){7}$",
  uri: `^https?://${hostname}(/[a-z0-9._~-]{0,40}){0,6}$`,
};
