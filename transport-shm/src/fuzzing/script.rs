//! An input, as a list of decisions. What is behind its end is 0.

pub(super) struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    /// One of so many, up to 256.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    /// Never behind the end.
    pub(super) fn is_one_in(&mut self, many: usize) -> bool {
        self.below(many) == many - 1
    }

    /// At most so many bytes.
    pub(super) fn bytes(&mut self, most: usize) -> &'a [u8] {
        let length = self.below(most + 1).min(self.0.len());
        self.0.split_off(..length).unwrap_or_default()
    }

    fn word(&mut self, bytes: usize) -> u64 {
        (0..bytes).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    /// Some number, rather a small one.
    pub(super) fn number(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 | 2 => self.word(1),
            3 | 4 => self.word(2),
            5 => 1u64.rotate_left(u32::from(self.byte())).wrapping_sub(self.word(1)),
            6 => u64::MAX - self.word(1),
            _ => self.word(8),
        }
    }

    /// The number of a collective.
    pub(super) fn collective(&mut self) -> u32 {
        if self.is_one_in(8) { self.number() as u32 } else { self.byte() as u32 % 3 }
    }

    /// Bytes of something: often so many as there are of something else.
    pub(super) fn length(&mut self) -> usize {
        match self.below(8) {
            0 => 1,
            1 => self.below(200),
            2 => 2 << 10,
            3 => (2 << 10) + 1,
            4 => 8 << 10,
            5 => (8 << 10) + 1,
            6 => 128 << 10,
            _ => self.number() as usize,
        }
    }

    /// What is said instead of `right`, which it mostly is.
    pub(super) fn packet(&mut self, right: &[u8]) -> Vec<u8> {
        let mut packet = right.to_vec();
        match self.below(64) {
            60 => packet.truncate(self.below(256)),
            61 => packet.extend(self.bytes(255)),
            62 => {
                let at = self.below(packet.len());
                packet[at] ^= self.byte();
            }
            63 => packet = self.bytes(255).to_vec(),
            _ => {}
        }
        packet
    }
}
