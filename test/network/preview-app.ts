/**
 * What runs behind the ports in these tests: an HTTP server on 3000 that does as its path says, and on 3001 a server that
 * gives back what it gets and says how much it was when the client has ended its direction.
 */
export const previewApp = `
const http = require('http');
const net = require('net');
const { createHash } = require('crypto');
let open = 0;
const routes = {
  '/echo': (request, response) => {
    const { method, url, rawHeaders } = request;
    response.end(JSON.stringify({ method, url, rawHeaders }));
  },
  '/sink': (request, response) => {
    const hash = createHash('sha256');
    let bytes = 0;
    request.on('data', (piece) => { bytes += piece.length; hash.update(piece); });
    request.on('end', () => response.end(JSON.stringify({ bytes, sha256: hash.digest('hex') })));
  },
  '/source': (request, response, query) => {
    let left = Number(query.get('bytes'));
    if (query.has('length')) response.setHeader('content-length', left);
    const piece = Buffer.alloc(65536, 'caisson');
    const go = () => {
      while (left > 0) {
        const size = Math.min(left, piece.length);
        left -= size;
        if (!response.write(piece.subarray(0, size))) return response.once('drain', go);
      }
      response.end();
    };
    go();
  },
  '/events': (request, response) => {
    open += 1;
    response.on('close', () => { open -= 1; });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (!new URL(request.url, 'http://x').searchParams.has('silent')) {
      let count = 0;
      const tick = setInterval(() => response.write('data: ' + (count += 1) + '\\n\\n'), 30);
      response.on('close', () => clearInterval(tick));
    } else response.flushHeaders();
  },
  '/open': (request, response) => response.end(String(open)),
  '/status': (request, response, query) => { response.statusCode = Number(query.get('code')); response.end(); },
  '/set': (request, response, query) => { response.setHeader('set-cookie', query.getAll('c')); response.end(); },
  '/go': (request, response, query) => { response.writeHead(302, { location: query.get('to') }); response.end(); },
  '/raw': (request, response, query) => { request.socket.write(Buffer.from(query.get('hex'), 'hex')); },
  '/early': (request, response) => { response.statusCode = 413; response.end('too much'); },
};
const server = http.createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://x');
  const route = routes[pathname];
  if (route) return route(request, response, searchParams);
  response.end('page ' + pathname);
});
server.on('upgrade', (request, socket, head) => {
  socket.on('error', () => {});
  open += 1;
  socket.on('close', () => { open -= 1; });
  if (request.url === '/no') return socket.end('HTTP/1.1 403 Forbidden\\r\\ncontent-length: 2\\r\\n\\r\\nno');
  if (request.headers.upgrade !== 'websocket') {
    socket.write('HTTP/1.1 101 Switching Protocols\\r\\nconnection: upgrade\\r\\nupgrade: shout\\r\\n\\r\\n');
    socket.on('data', (bytes) => socket.write(bytes.toString().toUpperCase()));
    return;
  }
  const accept = createHash('sha1')
    .update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nconnection: Upgrade\\r\\nupgrade: websocket\\r\\n'
    + 'sec-websocket-accept: ' + accept + '\\r\\n\\r\\n');
  let kept = Buffer.alloc(0);
  socket.on('data', (bytes) => {
    kept = Buffer.concat([kept, bytes]);
    for (;;) {
      const size = kept[1] & 127;
      if (kept.length < 2 || size > 125 || kept.length < 6 + size) return;
      const mask = kept.subarray(2, 6);
      const text = Buffer.from(kept.subarray(6, 6 + size).map((byte, at) => byte ^ mask[at % 4]));
      if ((kept[0] & 15) === 8) return socket.end(Buffer.concat([Buffer.from([0x88, size]), text]));
      socket.write(Buffer.concat([Buffer.from([0x81, size]), text]));
      kept = kept.subarray(6 + size);
    }
  });
});
server.listen(3000);
net.createServer({ allowHalfOpen: true }, (socket) => {
  let bytes = 0;
  socket.on('error', () => {});
  socket.on('data', (piece) => {
    bytes += piece.length;
    if (!socket.write(piece)) { socket.pause(); socket.once('drain', () => socket.resume()); }
  });
  socket.on('end', () => socket.end('|' + bytes));
}).listen(3001, '127.0.0.1');
`;
