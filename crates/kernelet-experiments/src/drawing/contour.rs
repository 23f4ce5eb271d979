//! Where is a function on a grid zero? Marching squares, with the pieces joined to lines, so that dashes run along them.
//!
//! A side of a cell is crossed where the function is above zero at one end and not at the other, at the place where the straight line
//! between the two values is zero. A cell with four crossings is joined as the mean of its corners says. Cost: the number of cells.

/// Values of a function at `columns` x `rows` places one apart, row after row.
pub struct Grid<'a> {
    pub columns: usize,
    pub rows: usize,
    pub values: &'a [f64],
}

/// Sides of cells by number: first those along a row, then those along a column.
struct Sides {
    columns: usize,
    rows: usize,
}

impl Sides {
    fn count(&self) -> usize {
        (self.columns - 1) * self.rows + self.columns * (self.rows - 1)
    }

    /// The side from place (i, j) to (i + 1, j).
    fn along_row(&self, i: usize, j: usize) -> usize {
        j * (self.columns - 1) + i
    }

    /// The side from place (i, j) to (i, j + 1).
    fn along_column(&self, i: usize, j: usize) -> usize {
        (self.columns - 1) * self.rows + j * self.columns + i
    }

    /// The two ends of a side, as places in the values.
    fn ends(&self, side: usize) -> [(usize, usize); 2] {
        let first = (self.columns - 1) * self.rows;
        if side < first {
            let (i, j) = (side % (self.columns - 1), side / (self.columns - 1));
            return [(i, j), (i + 1, j)];
        }
        let (i, j) = ((side - first) % self.columns, (side - first) / self.columns);
        [(i, j), (i, j + 1)]
    }
}

impl Grid<'_> {
    /// The lines where the function is zero, in places of the grid from (0, 0) on; closed ones end where they begin.
    pub fn zeros(&self) -> Vec<Vec<(f64, f64)>> {
        if self.columns < 2 || self.rows < 2 || self.values.len() < self.columns * self.rows {
            return vec![];
        }
        let sides = Sides { columns: self.columns, rows: self.rows };
        // A side belongs to two cells at most, and to one piece of line in each.
        let mut neighbours: Vec<[Option<usize>; 2]> = vec![[None; 2]; sides.count()];
        for j in 0..self.rows - 1 {
            for i in 0..self.columns - 1 {
                for [a, b] in self.pieces(&sides, i, j).into_iter().flatten() {
                    for (from, to) in [(a, b), (b, a)] {
                        let free = usize::from(neighbours[from][0].is_some());
                        neighbours[from][free] = Some(to);
                    }
                }
            }
        }
        joined(neighbours).into_iter().map(|line| line.into_iter().map(|side| self.crossing(&sides, side)).collect()).collect()
    }

    fn above(&self, i: usize, j: usize) -> bool {
        self.values[j * self.columns + i] > 0.0
    }

    /// The pieces of line in a cell: none, one or two pairs of sides.
    fn pieces(&self, sides: &Sides, i: usize, j: usize) -> [Option<[usize; 2]>; 2] {
        let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
        // Side k runs from corner k to corner k + 1.
        let around = [sides.along_row(i, j), sides.along_column(i + 1, j), sides.along_row(i, j + 1), sides.along_column(i, j)];
        let above = corners.map(|(i, j)| self.above(i, j));
        let crossed: Vec<usize> = (0..4).filter(|&k| above[k] != above[(k + 1) % 4]).map(|k| around[k]).collect();
        match crossed[..] {
            [a, b] => [Some([a, b]), None],
            [a, b, c, d] => {
                let mean: f64 = corners.iter().map(|&(i, j)| self.values[j * self.columns + i]).sum();
                // Where the middle is on the side of corner 0, corners 1 and 3 are cut off.
                if (mean > 0.0) == above[0] { [Some([a, b]), Some([c, d])] } else { [Some([d, a]), Some([b, c])] }
            }
            _ => [None, None],
        }
    }

    /// Where a side is crossed.
    fn crossing(&self, sides: &Sides, side: usize) -> (f64, f64) {
        let [(i, j), (to_i, to_j)] = sides.ends(side);
        let (from, to) = (self.values[j * self.columns + i], self.values[to_j * self.columns + to_i]);
        let part = from / (from - to);
        let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.5 };
        (i as f64 + part * (to_i - i) as f64, j as f64 + part * (to_j - j) as f64)
    }
}

/// Lines from sides to their neighbours: first those with two ends, then closed ones.
fn joined(mut neighbours: Vec<[Option<usize>; 2]>) -> Vec<Vec<usize>> {
    let mut lines = vec![];
    let ended: Vec<usize> = (0..neighbours.len()).filter(|&side| neighbours[side][0].is_some() && neighbours[side][1].is_none()).collect();
    for start in ended.into_iter().chain(0..neighbours.len()) {
        let (mut line, mut here) = (vec![start], start);
        while let Some(next) = neighbours[here].iter_mut().find_map(Option::take) {
            // The same segment in the other direction is removed too.
            if let Some(back) = neighbours[next].iter_mut().find(|back| **back == Some(here)) {
                *back = None;
            }
            line.push(next);
            here = next;
        }
        if line.len() > 1 {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zeros(columns: usize, rows: usize, of: impl Fn(f64, f64) -> f64) -> Vec<Vec<(f64, f64)>> {
        let values: Vec<f64> = (0..columns * rows).map(|k| of((k % columns) as f64, (k / columns) as f64)).collect();
        Grid { columns, rows, values: &values }.zeros()
    }

    #[test]
    fn a_straight_line_is_found_exactly() {
        let lines = zeros(5, 4, |x, _| x - 1.25);
        assert_eq!(lines.len(), 1);
        let mut places = lines[0].clone();
        places.sort_by(|a, b| a.1.total_cmp(&b.1));
        assert_eq!(places, [(1.25, 0.0), (1.25, 1.0), (1.25, 2.0), (1.25, 3.0)]);
    }

    #[test]
    fn a_circle_is_one_closed_line_on_the_circle() {
        let lines = zeros(41, 31, |x, y| 100.0 - (x - 20.0).powi(2) - (y - 15.0).powi(2));
        assert_eq!((lines.len(), lines[0].first()), (1, lines[0].last()));
        assert!(lines[0].iter().all(|(x, y)| ((x - 20.0).hypot(y - 15.0) - 10.0).abs() < 0.02));
        // As long as the circle: nothing is missing.
        let length: f64 = lines[0].windows(2).map(|pair| (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1)).sum();
        assert!((length - 20.0 * std::f64::consts::PI).abs() < 0.3, "{length}");
    }

    #[test]
    fn neighbouring_places_of_a_line_share_a_cell_also_at_saddles() {
        for shift in [-0.3, 0.0, 0.3] {
            let lines = zeros(30, 30, |x, y| (0.9 * x).sin() * (0.8 * y).sin() + shift);
            let pieces: usize = lines.iter().map(|line| line.len() - 1).sum();
            assert!(pieces > 100);
            for pair in lines.iter().flat_map(|line| line.windows(2)) {
                assert!((pair[1].0 - pair[0].0).abs() <= 1.0 && (pair[1].1 - pair[0].1).abs() <= 1.0, "{pair:?}");
            }
        }
        // A saddle in one cell: the middle decides which corners are cut off.
        for (values, cut) in [([2.0, -1.0, -1.0, 2.0], 1.0), ([1.0, -2.0, -2.0, 1.0], 0.0)] {
            let lines = Grid { columns: 2, rows: 2, values: &values }.zeros();
            assert_eq!(lines.len(), 2);
            let near = |line: &Vec<(f64, f64)>| line.iter().all(|&(x, y)| (x - cut).abs() < 0.7 && y < 0.7);
            assert_eq!(lines.iter().filter(|line| near(line)).count(), 1, "{lines:?}");
        }
    }

    #[test]
    fn values_without_a_sign_change_or_not_finite_do_no_harm() {
        assert!(zeros(5, 5, |_, _| 1.0).is_empty() && zeros(1, 5, |x, _| x - 0.5).is_empty());
        let lines = zeros(6, 6, |x, y| if x > 2.0 { f64::NAN } else { (y - 2.5) * 1e308 });
        assert!(lines.iter().flatten().all(|(x, y)| x.is_finite() && y.is_finite()));
    }
}
