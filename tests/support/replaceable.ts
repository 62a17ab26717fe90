/** A port whose methods a test may replace by assignment; some are proxies, which cannot be spread. */
export function replaceable<Port extends object>(port: Port): Port {
  const replaced: Partial<Port> = {};
  return new Proxy(port, {
    get: (_, name) => Reflect.get(name in replaced ? replaced : port, name),
    set: (_, name, value) => Reflect.set(replaced, name, value),
  });
}
