/* What more than one view needs, with all that it imports. It comes with `main.tsx`, so that a view is one more file. */
import '../../server/src/contract/console/first-message.ts';
import './components/download.tsx';
import './keys/key-creation.tsx';
import './keys/key-page.tsx';
import './knowledge/level.tsx';
import './knowledge/worst-texts.tsx';
import './messages/message.tsx';
import './overview/numbers.tsx';
import './overview/recent-problems.tsx';
import './overview/tables.tsx';
