'use strict'

// A file that a program in Rust has made, with tables that its function `backwards` compares
// (`Order::custom("backwards", |a, b| b.cmp(a))`): table `t` has "000" to "299" with the value "v",
// multimap `m` the values "0" and "1" for each of "00" to "49". Copied compactly, and packed.

const { inflateSync } = require('node:zlib')

const packed = `
eNrtnE2IW2UUhm/GUadandCFzKJCoIpBRN5zb35uxUUWKkFBB0GMIhityqC0BB01iMJQUYcuJAvBLETjDzoLF0FEBhEddW
H8WQREGcSfCF1kIRJEZCgqNsnDdL4ydOFCBc9bmqe3k7ycS3lgvpN0qrfcdGMmOpUfz739m2MvdF86Mlc///hlz7+654mv
mh/ceuJwlI2imZNf3/nciOvx79npZXbyOBdFZ0Uej8fj8Xg8Ho/H4/F4/iupnnb+P/TG/s6XF1/6zG7n//HzZnac+6Po1E
7g9PP/HF8/KwpfN3OGWTL+z+HxeDwej8fj8Xg8Ho/H4/F4PB6Px+PxeDwez9/KD7Pv7F2e/fTl8fv0M5Nf03Qmj3vHD4fr
85N35pe78/4Ovcfj8Xg8Ho/H4/F4PLvlhijKHh5/OD4zm9k+XN9z2pN2fih+5xH7xc9u/WT/tUevy+y5+65DDzx614P3PD
TuWz53/JrZU6+7IrN7X+a07l36jg4+fuuBE98tz06eGm8//b3JH56dFF9zwfRvb4Z1eAQ+Do/BNnwdvg0/gn34PfwJnoBz
F055EbwExrACb4R3wPthEz4Nn4OvwC58H34Bv4FD+BucnZ9yH8zBK+HV8HpYg/fBZXgUtuCL8E34LuzBr+Fx+Mv8jAvl8X
g8Ho/H4/H8y5mLIhUOzkTjA55scpUGV+XgqhRcFYOrQnCVBFdxcGXBlXZeJcEsSTBLEsySBLMkwSxJMEsSzJIEsyTBLEkw
SxzMEgezxMEscTBLHMwSB7PEwSxxMEsczBIHs1gwiwWzWDCLBbNYMIsFs1gwiwWzWDCLBbMomEXBLApmUTCLglkUzKJgFg
WzKJhF27Mc+P2xyx/Md389e3L+/3P7/D8a7xiinyeP2bnpT/NbgDmYh4IprMAqXIQ1WIdLsAGbcAWuwhZsww5cg124Djdg
D/bhJhzAIRzBLRjtmXIOZuECzME8FExhBVbhIqzBOlyCDdiEK3AVtmAbduAa7MJ1uAF7sA834QAO4Qhuweg87h9m4QLMwT
wUTGEFVuEirME6XIIN2IQrcBW2YBt24BrswnW4AXuwDzfhAA7hCG7B6HzuH2bhAszBPBRMYQVW4SKswTpcgg3YhCtwFbZg
G3bgGuzCdbgBe7APN+EADuEIbsFoL/cPs3AB5mAeCqawAqtwEdZgHS7BBmzCFbgKW7ANO3ANduE63IA92IebcACHcAS3YH
QB9w+zcAHmYB4KprACq3AR1mAdLsEGbMIVuApbsA07cA124TrcgD3Yh5twAIdwBLdgdCH3D7NwAeZgHgqmsAKrcBHWYB0u
wQZswhW4CluwDTtwDXbhOtyAPdiHm3AAh3AEt2A0z/3DLFyAOZiHgimswCpchDVYh0uwAZtwBa7CFmzDDlyDXbgON2AP9u
EmHMAhHMGtkxwv/OODBx+ZMoVlWIJFWIAJjKFBTZnSl9KX0pfSl9KX0pfSl9KX0pfSV6avTF+ZvjJ9ZfrK9JXpK9NXpq9M
X4m+En0l+kr0legr0Veir0Rfib4SfUX6ivQV6SvSV6SvSF+RviJ9RfqK9BXoK9BXoK9AX4G+An0F+gr0Fegr0JfQl9CX0J
fQl9CX0JfQl9CX0JfQF9MX0xfTF9MX0xfTF9MX0xfTF9Nn9Bl9Rp/RZ/QZfUaf0Wf0GX2iT/SJPtEn+kSf6BN9ok/TPsMP
ww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8
MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/D
D8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MPww/DD8MP4YfwQ/gh/BB+CD+EH8
IP4YfwQ/gh/BB+CD+EH8IP4YfwQ/gh/BB+CD+EH8IP4YfwQ/gh/BB+CD+EH8IP4YfwQ/gh/BB+CD+EH8IP4YfwQ/gh/BB+
CD+EH8IP4YfwQ/gh/BB+6KQfh+/8/LWn7t338DmT8/+V2+f/xuSd/yMZ//7rn/3+y+PxeDwej8fj8Xj+L5meSznfsq8R+x
qxrxH7GrGvEfsasa8R+xqxrxH7GrGvEfsasa8R+xqxrxH7GrGvEfsasa8R+xqxrxH7GrGvEfsasa8R+xqxrxH7GrGvEfsa
sa8R+xqxrxH7GrGvEfsasa8R+xqxrxH7GrGvEfsasa8R+xpJj9wWPfnhgW/fuWr8Rn8mc+r//+92Ev3j5Pl0+jmBac6Jzv
zz/D0ej8fj8Xg8Ho/H4/H8B6JC8S+Ti4F4
`

module.exports = { backwards: inflateSync(Buffer.from(packed, 'base64')) }
