import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { newFolder, newScope, repository } from '../support/cli-helpers.ts';
import { makeTwoTenants, onOneEngine, type Service, startService } from '../support/harness.ts';
import { until } from '../support/until.ts';

const secret = `whsec_${randomBytes(32).toString('base64')}`;

type Received = { id: string; type: string; data: Record<string, unknown> };

onOneEngine('the example that posts bad answers to a webhook', (engine) => {
  const { one, other, records } = makeTwoTenants();
  const scope = newScope();
  const received: Received[] = [];
  const notifiers = new Set<ChildProcess>();
  /** Statuses of the next responses; then 204. */
  let statuses: number[] = [];
  let service: Service;
  let receiver: http.Server;
  let cwd: string;

  before(async () => {
    service = await startService(engine);
    await service.load(records);
    cwd = await newFolder(scope);
    receiver = http.createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      // Throws if the signature or the time is wrong.
      const payload = new Webhook(secret).verify(body, request.headers as Record<string, string>) as Received;
      received.push({ ...payload, id: `${request.headers['webhook-id']}` });
      response.writeHead(statuses.shift() ?? 204).end();
    });
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
  });
  after(async () => {
    for (const notifier of notifiers) notifier.kill('SIGKILL');
    receiver.closeAllConnections();
    receiver.close();
    await service.close();
    await scope.end();
  });

  function startNotifier(): ChildProcess {
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const notifier = spawn(process.execPath, [join(repository, 'examples', 'notify', 'notify.ts')], {
      cwd,
      env: {
        ...{ PATH, NODE_COMPILE_CACHE },
        BACKSCROLL_URL: `${service.base}/v1`,
        BACKSCROLL_KEY: one.keys.feed,
        WEBHOOK_URL: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`,
        WEBHOOK_SECRET: secret,
        FAILED_MIN: '4',
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    notifiers.add(notifier);
    notifier.once('exit', () => notifiers.delete(notifier));
    return notifier;
  }

  const now = Math.floor(Date.now() / 1000);
  const message = (id: string, more: object = {}) => ({
    ...{ record: 'message', id, conversation_id: one.ids.conversation, query: 'q', answer: 'a', created_at: now },
    ...more,
  });
  const rate = (message_id: string, rating: string, content: string) =>
    service.as(one.keys.app).post(`/v1/messages/${message_id}/feedbacks`, { rating, content, user: 'ann' });
  const idsOf = (type: string) => [...new Set(received.filter((one) => one.type === type).map(({ id }) => id))];
  const disliked = () => received.filter(({ type }) => type === 'message.disliked');

  it('posts each new dislike, at least once across kills, and again with the same id only', async () => {
    const [old, first, second] = [randomUUID(), randomUUID(), randomUUID()];
    await service.load([message(old, { feedback: { rating: 'dislike' } })]);
    let notifier = startNotifier();
    // It begins with what comes: the first page stores the cursor.
    await until(async () => {
      await service.load([message(first)]);
      await rate(first, 'dislike', 'wrong');
      return disliked().length > 0;
    });
    assert.deepEqual(
      disliked()[0]?.data.url,
      `${service.base}/console#/conversations/${one.ids.app}/${one.ids.conversation}/${first}`,
    );
    assert.ok(!disliked().some(({ data }) => data.message_id === old));

    statuses = [500];
    await service.load([message(second)]);
    await rate(second, 'dislike', 'slow');
    await until(() => disliked().some(({ data }) => data.message_id === second));
    notifier.kill('SIGKILL');
    await once(notifier, 'exit');
    const before = disliked().filter(({ data }) => data.message_id === second);
    notifier = startNotifier();
    await until(() => disliked().filter(({ data }) => data.message_id === second).length > before.length);
    const posts = disliked().filter(({ data }) => data.message_id === second);
    assert.deepEqual([...new Set(posts.map(({ id }) => id))], [before[0]?.id]);
    assert.deepEqual(posts[0]?.data.feedback, 'slow');
    notifier.kill('SIGKILL');
  });

  it('posts one alert when many answers fail, and nothing of another tenant', async () => {
    startNotifier();
    const failed = { status: 'error', error: 'overloaded' };
    await service.load([{ ...message(randomUUID(), failed), conversation_id: other.ids.conversation }]);
    for (let at = 0; at < 6; at += 1) await service.load([message(randomUUID(), failed)]);
    await until(() => idsOf('failures').length === 1);
    const liked = randomUUID();
    await service.load([message(liked, failed)]);
    await rate(liked, 'dislike', 'last');
    await until(() => disliked().some(({ data }) => data.message_id === liked));
    assert.equal(idsOf('failures').length, 1);
    const { messages, failed: count } = received.find(({ type }) => type === 'failures')?.data ?? {};
    assert.ok(Number(messages) >= 4 && Number(count) >= 1 && Number(count) <= 6);
  });
});
