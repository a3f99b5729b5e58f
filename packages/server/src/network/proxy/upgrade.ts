import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Fields, pairsOf, passedOn, sizeOf } from './fields.ts';
import { bind, endWith, flow } from './flow.ts';
import { refusedBy, send } from './forward.ts';
import { outgoing, passageOf } from './outgoing.ts';
import { type Refused, refusalBytes } from './refused.ts';
import type { Visit } from './visit.ts';

/**
 * A request that wants to leave HTTP. WebSockets may; anything else goes on as an ordinary request without that wish,
 * because what is spoken afterwards (HTTP/2 above all) could name other hosts that nobody would look at.
 */
export async function upgrade(visit: Visit, req: IncomingMessage, stream: Duplex, early: Buffer): Promise<void> {
  const { gate, client } = visit;
  stream.once('close', client.work());
  const refuse = (refused: Refused) => {
    gate.refused(client.protocol, refused);
    endWith(stream, refusalBytes(gate.sandbox, refused));
  };
  const prepared = await outgoing(visit, req);
  if (stream.destroyed) return;
  if ('why' in prepared) return refuse(prepared);
  const { target } = prepared.wanted;
  if (prepared.framing !== 'none')
    return refuse({ why: 'request_malformed', target, detail: 'A request to upgrade has no body.' });
  const isWebSocket = req.headers.upgrade?.trim().toLowerCase() === 'websocket';
  const request = send(visit, prepared, isWebSocket ? ['Connection', 'Upgrade', 'Upgrade', 'websocket'] : []);
  const passage = passageOf(visit, prepared, () => {
    request.destroy();
    stream.destroy();
  });
  gate.open(passage);
  stream.once('close', () => {
    gate.close(passage);
    request.destroy();
  });
  const { account } = passage;
  const { head } = prepared;
  account.sent(head.method.length + head.target.length + 12 + sizeOf([...head.fields]));
  let isAnswered = false;
  request.once('socket', (socket) => {
    passage.address = gate.pool.addressOf(socket);
    account.connected();
    gate.allowed(passage, prepared.rule, prepared.secrets);
  });
  request.on('error', (error) => {
    if (isAnswered) stream.destroy();
    else refuse(refusedBy(error, prepared, passage.address));
  });
  request.once('upgrade', (response, upstream, first) => {
    isAnswered = true;
    if (!isWebSocket) {
      upstream.destroy();
      return refuse({ why: 'unreachable', target, detail: 'It answered with a protocol that nobody asked for.' });
    }
    account.received(sizeOf(pairsOf(response.rawHeaders)) + 20);
    stream.write(headBytes(response, pairsOf(response.rawHeaders)));
    if (first.length > 0) upstream.unshift(first);
    if (early.length > 0) stream.unshift(early);
    passage.end = () => {
      upstream.destroy();
      stream.destroy();
    };
    bind(stream, upstream);
    flow(upstream, stream, account.received);
    flow(stream, upstream, account.sent);
  });
  request.once('response', (response) => {
    isAnswered = true;
    // No parser holds this connection any more, so its end is the end of the answer.
    const fields = passedOn(pairsOf(response.rawHeaders));
    account.received(sizeOf(fields) + 20);
    stream.write(headBytes(response, [...fields, ['Connection', 'close']]));
    response.on('error', () => stream.destroy());
    flow(response, stream, account.received);
    stream.resume();
  });
  request.end();
}

function headBytes({ statusCode, statusMessage }: IncomingMessage, fields: Fields): Buffer {
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines}\r\n`, 'latin1');
}
