import { expect, test } from "bun:test";
import { Connections } from "../../../src/server/listen.ts";

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

test.each([
  ["192.0.2.1", "203.0.113.7", "203.0.113.7"],
  ["::ffff:192.0.2.1", "198.51.100.1, 203.0.113.7", "203.0.113.7"],
  ["192.0.2.1", "198.51.100.1, 203.0.113.7, 10.1.2.3", "203.0.113.7"],
  ["192.0.2.1", "203.0.113.7:4711", "203.0.113.7"],
  ["192.0.2.1", "[2001:db8:1:2::9]:80", "2001:db8:1:2::/64"],
  ["192.0.2.1", "10.1.2.3", "10.1.2.3"],
  // What is no address says nothing, and what came before it could be anybody's word.
  ["192.0.2.1", "203.0.113.7, unknown", "192.0.2.1"],
  ["192.0.2.1", "", "192.0.2.1"],
  // Whoever is no proxy of ours says nothing of others.
  ["192.0.2.2", "203.0.113.7", "192.0.2.2"],
  ["127.0.0.1", "203.0.113.7", "127.0.0.1"],
])("behind trusted proxies, the client of %s for '%s' is %s", (address, forwarded, client) => {
  const connections = new Connections(["192.0.2.1", "10.0.0.0/8"]);
  const headers = { "x-forwarded-for": forwarded };
  const request = new Request("http://localhost/", { headers });
  connections.opened(request, { address, onIdle: () => {} });
  expect(connections.clientOf(request)).toBe(client);
});
