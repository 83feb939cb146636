import Fastify from 'fastify';

/** The smallest Fastify server there is. */
const app = Fastify();
app.get('/', async () => ({ status: 'ok' }));
process.stdout.write(`listening at ${await app.listen({ host: '127.0.0.1', port: 0 })}\n`);
