/** A thread that asks again and again, each time on a new connection: told an address, how often, and how many at once. */
declare const self: Worker;

self.onmessage = async ({ data: { url, requests, atOnce } }) => {
  let left = requests;
  const ask = async (): Promise<void> => {
    while (left-- > 0) await (await fetch(url, { keepalive: false })).arrayBuffer();
  };
  await Promise.all(Array.from({ length: atOnce }, ask));
  self.postMessage("done");
};
