/**
 * A rule and its form, without a browser: conversion in both directions, invalid input, and
 * differences.
 */
import { test } from 'tap';
import {
  blankRule,
  differencesOf,
  durationOf,
  durationText,
  fieldsOf,
  problemsOf,
  quantityOf,
  quantityText,
  type RuleSpec,
  specOf,
} from '../../src/dashboard/pages/alerting/rules/rule-fields.ts';

const spec: RuleSpec = {
  displayName: 'CPU is high',
  metricId: 'cpu_utilization_pct',
  operator: 'GREATER_THAN',
  threshold: 90.5,
  sustainedSeconds: 600,
  severity: 'WARNING',
  allVms: true,
  vmNames: [],
  enabled: true,
  repeatIntervalSeconds: 0,
  destinationNames: ['projects/p/destinations/d'],
  recoveryThreshold: 80,
  recoverySeconds: 120,
  labels: { team: 'a=b', tier: '1' },
  runbookText: 'Look at it.\nThen restart it.',
  runbookUrl: 'https://runbooks.example.com/1',
};

test('DASH-16: an unchanged form returns the same rule', async (t) => {
  t.same(specOf(fieldsOf(spec, 'percent'), 'percent'), spec);
  const { recoveryThreshold: _, recoverySeconds: __, ...without } = spec;
  const chosen = { ...without, allVms: false, vmNames: ['projects/p/vms/a'], threshold: 0 };
  const back = specOf(fieldsOf(chosen, 'percent'), 'percent');
  t.same(back, chosen, 'absent fields stay absent, and zero is a threshold');
  t.notOk(back && 'recoveryThreshold' in back);
  const bytes = { ...spec, threshold: 1.5 * 2 ** 30, recoveryThreshold: 1000, enabled: false };
  t.same(specOf(fieldsOf(bytes, 'bytes'), 'bytes'), bytes);
  const age = { ...spec, threshold: 300, recoveryThreshold: 90_061 };
  t.same(specOf(fieldsOf(age, 'seconds'), 'seconds'), age, 'to the second');
});

test('DASH-16: unreadable input yields no rule, and its field shows the reason', async (t) => {
  t.equal(specOf(blankRule, ''), undefined);
  t.same(problemsOf(blankRule, ''), {
    displayName: 'missing',
    metricId: 'missing',
    threshold: 'missing',
  });
  const fields = fieldsOf(spec, 'percent');
  const cases = [
    [{ threshold: '90,5' }, { threshold: 'noNumber' }],
    [{ threshold: '4 GiB' }, { threshold: 'noNumber' }],
    [{ sustainedSeconds: '10' }, { sustainedSeconds: 'noDuration' }],
    [{ sustainedSeconds: ' ' }, { sustainedSeconds: 'missing' }],
    [{ repeatIntervalSeconds: 'often' }, { repeatIntervalSeconds: 'noDuration' }],
    [{ allVms: false }, { vmNames: 'noVm' }],
    [{ labels: 'team' }, { labels: 'noLabel' }],
    [{ recoveryThreshold: '', recoverySeconds: '', labels: '' }, {}],
  ] as const;
  for (const [changes, problems] of cases) {
    t.same(problemsOf({ ...fields, ...changes }, 'percent'), problems, JSON.stringify(changes));
  }
});

test('DASH-16: durations and quantities are read as written', async (t) => {
  const lengths = [
    ['0', 0],
    ['90 s', 90],
    ['1 h 30 min', 5_400],
    ['1d', 86_400],
    ['', undefined],
    ['90', undefined],
    ['1.5 h', undefined],
    ['-5 min', undefined],
  ] as const;
  for (const [text, seconds] of lengths) t.equal(durationOf(text), seconds, `"${text}"`);
  for (const seconds of [0, 1, 59, 60, 3_661, 90_061, 604_800]) {
    t.equal(durationOf(durationText(seconds)), seconds, durationText(seconds));
  }
  t.equal(durationText(600), '10 min');
  const quantities = [
    ['90', 'percent', 90],
    ['90 %', 'percent', 90],
    ['-1.5e3', 'load', -1_500],
    ['4 GiB', 'bytes', 4 * 2 ** 30],
    ['2GB', 'bytes', 2_000_000_000],
    ['500 KB/s', 'bytes_per_second', 500_000],
    ['1.5 MiB/s', 'bytes_per_second', 1.5 * 2 ** 20],
    ['10 min', 'seconds', 600],
    ['', 'percent', undefined],
    ['Infinity', 'percent', undefined],
    ['1e999', 'percent', undefined],
    ['ninety', 'percent', undefined],
  ] as const;
  for (const [text, unit, value] of quantities) t.equal(quantityOf(text, unit), value, text);
  t.equal(quantityText(4 * 2 ** 30, 'bytes'), '4 GiB');
  t.equal(quantityText(2_000_000_000, 'bytes'), '2 GB');
  t.equal(quantityText(1_234_567, 'bytes'), '1234567');
  for (const value of [0, 0.1, 12_345.678, 2 ** 40]) {
    for (const unit of ['bytes', 'percent', 'seconds']) {
      t.equal(quantityOf(quantityText(value, unit), unit), value, `${value} ${unit}`);
    }
  }
});

test('DASH-16: two forms differ only in fields whose meaning differs', async (t) => {
  const theirs = { fields: fieldsOf(spec, 'percent'), unit: 'percent' };
  const differing = (changes: object) =>
    differencesOf({ fields: { ...theirs.fields, ...changes }, unit: 'percent' }, theirs);
  t.same(differing({}), []);
  t.same(differing({ sustainedSeconds: '600 s', threshold: '90.50 %' }), []);
  t.same(differing({ labels: 'tier=1\n\nteam = a=b' }), []);
  t.same(differing({ repeatIntervalSeconds: '0' }), [], 'empty means never');
  t.same(
    differing({ vmNames: ['projects/p/vms/a'] }),
    [],
    'with all VMs, the selection is ignored',
  );
  t.same(differing({ threshold: '91', displayName: 'Other' }), ['displayName', 'threshold']);
  t.same(differing({ recoveryThreshold: '' }), ['recoveryThreshold']);
  t.same(differing({ recoverySeconds: '0' }), ['recoverySeconds'], 'zero is not absent');
  t.same(differing({ threshold: 'ninety' }), ['threshold'], 'unparsable input differs');
  t.same(differing({ allVms: false, vmNames: ['projects/p/vms/a'] }), ['allVms', 'vmNames']);
});
