import { expect, test } from "bun:test";
import { Connections } from "../../../src/server/connections.ts";

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:0001:2::9", "2001:db8:1:2::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
])("the client at %s is %s", (address, client) => {
  const connections = new Connections();
  const request = new Request("http://localhost/");
  connections.opened(request, { address, onIdle: () => {} });
  expect(connections.clientOf(request)).toBe(client);
});

test("a request that no server announced has no client", () => {
  const connections = new Connections();
  const request = new Request("http://localhost/");
  expect(connections.clientOf(request)).toBeUndefined();
  connections.ended(request);
});

test("a connection is told once that it is idle: later it may be at the next request", () => {
  const connections = new Connections();
  const request = new Request("http://localhost/");
  let told = 0;
  connections.opened(request, { onIdle: () => told++ });
  connections.ended(request);
  connections.ended(request);
  expect(told).toBe(1);
});
