/* What more than one view needs. It comes with `main.tsx`, so that a view is one more file. */
import '../../server/src/contract/rules.ts';
import './activity/activity.tsx';
import './components/download.tsx';
import './components/filters.tsx';
import './components/marked-text.tsx';
import './components/period-fields.tsx';
import './components/table.tsx';
import './hooks/use-media.ts';
import './hooks/use-record.ts';
import './hooks/use-settled.ts';
import './keys/key-labels.ts';
import './knowledge/level.tsx';
import './overview/health.tsx';
import './overview/plot.tsx';
