//! A cache of kernel rows within a limit of bytes: the least recently used row is evicted.

/// Rows of `width` numbers in one slab. Positions in the slab are called slots.
pub(super) struct Cache {
    /// Grows with the slots in use.
    slab: Vec<f32>,
    capacity: usize,
    width: usize,
    /// Slot of each row, or `NONE`.
    slot_of: Vec<u32>,
    /// Row in each slot in use.
    row_in: Vec<u32>,
    /// Slots in order of use as a ring through the extra last place: `next[last]` is the newest.
    next: Vec<u32>,
    previous: Vec<u32>,
    slots: usize,
}

const NONE: u32 = u32::MAX;

impl Cache {
    /// Space for `rows` rows of `width` numbers, in at most `bytes` bytes but never for fewer than two rows.
    pub fn new(rows: usize, width: usize, bytes: usize) -> Self {
        let slots = (bytes / (4 * width.max(1))).clamp(2, rows.max(2));
        let mut cache = Cache {
            slab: Vec::with_capacity(slots * width),
            capacity: slots * width,
            width,
            slot_of: vec![NONE; rows],
            row_in: vec![],
            next: vec![],
            previous: vec![],
            slots: 0,
        };
        cache.set_slots(slots);
        cache
    }

    /// The slot of row `i`, filled by `fill` when it is not there. The slot fetched just before stays valid.
    pub fn fetch(&mut self, i: usize, fill: impl FnOnce(&mut [f32])) -> usize {
        let mut slot = self.slot_of[i];
        if slot == NONE {
            slot = match self.row_in.len() < self.slots {
                true => {
                    self.row_in.push(NONE);
                    self.slab.resize(self.row_in.len() * self.width, 0.0);
                    self.row_in.len() as u32 - 1
                }
                false => {
                    let oldest = self.previous[self.slots];
                    self.unlink(oldest);
                    self.slot_of[self.row_in[oldest as usize] as usize] = NONE;
                    oldest
                }
            };
            self.slot_of[i] = slot;
            self.row_in[slot as usize] = i as u32;
            let start = slot as usize * self.width;
            fill(&mut self.slab[start..start + self.width]);
        } else {
            self.unlink(slot);
        }
        self.link_newest(slot);
        slot as usize
    }

    /// The row in a slot.
    pub fn row(&self, slot: usize) -> &[f32] {
        &self.slab[slot * self.width..(slot + 1) * self.width]
    }

    /// Keeps only the rows and columns `keep` (ascending), renumbered from 0, in rows of `width` numbers: there is then space for more rows.
    pub fn narrow(&mut self, keep: &[usize], width: usize) {
        let mut new_index = vec![NONE; self.slot_of.len()];
        keep.iter().enumerate().for_each(|(new, &old)| new_index[old] = new as u32);
        let by_age = self.by_age();
        let mut new_slot = vec![NONE; self.row_in.len()];
        let mut row_in = vec![];
        for old in 0..self.row_in.len() {
            let row = new_index[self.row_in[old] as usize];
            if row == NONE {
                continue;
            }
            let (from, to) = (old * self.width, row_in.len() * width);
            for (new, &column) in keep.iter().enumerate() {
                self.slab[to + new] = self.slab[from + column];
            }
            self.slab[to + keep.len()..to + width].fill(0.0);
            new_slot[old] = row_in.len() as u32;
            row_in.push(row);
        }
        self.slot_of = vec![NONE; keep.len()];
        row_in.iter().enumerate().for_each(|(slot, &row)| self.slot_of[row as usize] = slot as u32);
        self.row_in = row_in;
        self.width = width;
        self.slab.truncate(self.row_in.len() * width);
        self.set_slots((self.capacity / width.max(1)).clamp(2, keep.len().max(2)).max(self.row_in.len()));
        for old in by_age {
            if new_slot[old as usize] != NONE {
                self.link_newest(new_slot[old as usize]);
            }
        }
    }

    /// Takes a narrowed cache back to `rows` rows of `width` numbers: the rows and columns it has belong to places `index` (ascending). Rows
    /// that `wanted` does not name are dropped, and the oldest where not all fit. The other columns are left to the caller.
    pub fn widen(&mut self, index: &[usize], rows: usize, width: usize, wanted: impl Fn(usize) -> bool) {
        let slots = (self.capacity / width.max(1)).clamp(2, rows.max(2));
        let mut by_age = self.by_age();
        by_age.retain(|&slot| wanted(index[self.row_in[slot as usize] as usize]));
        by_age.drain(..by_age.len().saturating_sub(slots));
        let mut kept = by_age.clone();
        kept.sort_unstable();
        for (new, &old) in kept.iter().enumerate() {
            let from = old as usize * self.width;
            self.slab.copy_within(from..from + self.width, new * self.width);
        }
        self.slab.resize(kept.len() * width, 0.0);
        // From the end, so that no number is written over before it has moved: every place lies at or behind the one it comes from.
        for slot in (0..kept.len()).rev() {
            for (column, &place) in index.iter().enumerate().rev() {
                self.slab[slot * width + place] = self.slab[slot * self.width + column];
            }
            self.slab[slot * width + rows..(slot + 1) * width].fill(0.0);
        }
        self.row_in = kept.iter().map(|&old| index[self.row_in[old as usize] as usize] as u32).collect();
        self.slot_of = vec![NONE; rows];
        self.row_in.iter().enumerate().for_each(|(slot, &row)| self.slot_of[row as usize] = slot as u32);
        self.width = width;
        self.set_slots(slots);
        for old in by_age {
            if let Ok(slot) = kept.binary_search(&old) {
                self.link_newest(slot as u32);
            }
        }
    }

    /// Row `i` where it is there; its age stays.
    pub fn find(&mut self, i: usize) -> Option<&mut [f32]> {
        let slot = self.slot_of[i];
        (slot != NONE).then(|| &mut self.slab[slot as usize * self.width..(slot as usize + 1) * self.width])
    }

    /// The slots in use, oldest first.
    fn by_age(&self) -> Vec<u32> {
        let mut slots = vec![];
        let mut at = self.previous[self.slots];
        while at != self.slots as u32 {
            slots.push(at);
            at = self.previous[at as usize];
        }
        slots
    }

    fn set_slots(&mut self, slots: usize) {
        self.slots = slots;
        self.next = vec![slots as u32; slots + 1];
        self.previous = vec![slots as u32; slots + 1];
    }

    fn unlink(&mut self, slot: u32) {
        let (next, previous) = (self.next[slot as usize], self.previous[slot as usize]);
        self.previous[next as usize] = previous;
        self.next[previous as usize] = next;
    }

    fn link_newest(&mut self, slot: u32) {
        let ring = self.slots as u32;
        let newest = self.next[ring as usize];
        self.next[slot as usize] = newest;
        self.previous[slot as usize] = ring;
        self.previous[newest as usize] = slot;
        self.next[ring as usize] = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch(cache: &mut Cache, i: usize, filled: &mut Vec<usize>) -> Vec<f32> {
        let slot = cache.fetch(i, |row| {
            filled.push(i);
            row.iter_mut().enumerate().for_each(|(j, v)| *v = (100 * i + j) as f32);
        });
        cache.row(slot).to_vec()
    }

    #[test]
    fn the_least_recently_used_row_is_evicted() {
        let (mut cache, mut filled) = (Cache::new(10, 3, 3 * 3 * 4), vec![]);
        for i in [0, 1, 2, 0, 3, 0, 1] {
            assert_eq!(fetch(&mut cache, i, &mut filled)[2], (100 * i + 2) as f32);
        }
        assert_eq!(filled, [0, 1, 2, 3, 1]);
    }

    #[test]
    fn narrowing_keeps_rows_columns_and_the_order_of_use() {
        let (mut cache, mut filled) = (Cache::new(6, 6, 3 * 6 * 4), vec![]);
        for i in [5, 1, 2] {
            fetch(&mut cache, i, &mut filled);
        }
        cache.narrow(&[1, 3, 5], 3);
        filled.clear();
        assert_eq!(fetch(&mut cache, 2, &mut filled), [501.0, 503.0, 505.0]);
        assert_eq!(fetch(&mut cache, 0, &mut filled), [101.0, 103.0, 105.0]);
        assert!(filled.is_empty());
        fetch(&mut cache, 1, &mut filled);
        assert_eq!(filled, [1]);
    }

    #[test]
    fn widening_puts_rows_and_columns_back_and_drops_the_oldest() {
        let (mut cache, mut filled) = (Cache::new(6, 6, 3 * 6 * 4), vec![]);
        for i in [5, 1, 2] {
            fetch(&mut cache, i, &mut filled);
        }
        cache.narrow(&[1, 2, 4, 5], 4);
        fetch(&mut cache, 2, &mut filled);
        fetch(&mut cache, 1, &mut filled);
        filled.clear();
        // Rows in order of age: 5, 4 (new, in the narrow columns), 2 is unwanted, 1 is newest.
        cache.widen(&[1, 2, 4, 5], 6, 6, |i| i != 2);
        let row = cache.find(5).unwrap();
        assert_eq!([row[1], row[2], row[4], row[5]], [501.0, 502.0, 504.0, 505.0]);
        let row = cache.find(1).unwrap();
        assert_eq!([row[1], row[2], row[4], row[5]], [101.0, 102.0, 104.0, 105.0]);
        assert!(cache.find(2).is_none() && cache.find(0).is_none());
        for i in [4, 5, 0, 1] {
            fetch(&mut cache, i, &mut filled);
        }
        assert_eq!(filled, [0, 1], "row 1 was the oldest of three when row 0 came");
    }
}
