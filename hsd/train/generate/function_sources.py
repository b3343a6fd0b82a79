# ruff: noqa: E501 (a template is kept as the code it becomes)
"""Templates of small Python functions, one for each kind; `functions` explains `$name` and `«a|b»`."""

from __future__ import annotations

SOURCES: tuple[str, ...] = (
    '''def «sum_list|total_of|add_all|sum_values»($list: list[int]) -> int:
    """Return the sum of «all|the» «numbers|values|items» in the list."""
    $total = 0
    for $x in $list:
        $total += $x
    return $total''',
    '''def «max_value|find_max|largest|get_maximum»($list: list[int]) -> int:
    """«Return|Find» the largest «number|value|item» in the list."""
    $out = $list[0]
    for $x in $list«|[1:]»:
        if $x > $out:
            $out = $x
    return $out''',
    '''def «min_value|find_min|smallest|get_minimum»($list: list[int]) -> int:
    """«Return|Find» the smallest «number|value|item» in the list."""
    $out = $list[0]
    for $x in $list«|[1:]»:
        if $x < $out:
            $out = $x
    return $out''',
    '''def «count_vowels|vowel_count|number_of_vowels»($text: str) -> int:
    """«Count|Return the number of» vowels in the «text|string»."""
    «return sum(1 for c in $text if c in "aeiou")|return len([c for c in $text.lower() if c in "aeiou"])|$total = 0
    for c in $text:
        if c.lower() in "aeiou":
            $total += 1
    return $total»''',
    '''def «is_palindrome|palindrome|reads_same_backwards»($text: str) -> bool:
    """«Check if|Return True if» the «text|string» «is a palindrome|reads the same backwards»."""
    «|$text = $text.lower()
    »return $text == $text[::-1]''',
    '''def «factorial|fact|compute_factorial»($n: int) -> int:
    """Return the factorial of $n."""
    «if $n <= 1:
        return 1
    return $n * «factorial|fact|compute_factorial»($n - 1)|$out = 1
    for $i in range(2, $n + 1):
        $out *= $i
    return $out»''',
    '''def «fibonacci|fib|nth_fibonacci»($n: int) -> int:
    """Return the Fibonacci number at position $n."""
    $a, $b = 0, 1
    for _ in range($n):
        $a, $b = $b, $a + $b
    return $a''',
    '''def «is_prime|check_prime|prime»($n: int) -> bool:
    """«Check if $n is a prime number|Return True if $n is prime»."""
    if $n < 2:
        return False
    for $i in range(2, «int($n ** 0.5) + 1|$n»):
        if $n % $i == 0:
            return False
    return True''',
    '''def «gcd|greatest_common_divisor»($a: int, $b: int) -> int:
    """«Return|Compute» the greatest common divisor of $a and $b."""
    while $b:
        $a, $b = $b, $a % $b
    return «$a|abs($a)»''',
    '''def «count_words|word_counts|word_frequency|tally»($words: list[str]) -> dict[str, int]:
    """Count how often each word occurs."""
    $dict = {}
    for word in $words:
        «$dict[word] = $dict.get(word, 0) + 1|if word not in $dict:
            $dict[word] = 0
        $dict[word] += 1»
    return $dict''',
    '''def «linear_search|find_index|index_of_item|search»($list: list[int], $target: int) -> int:
    """Return the index of $target in the list, or -1 if it is «missing|not there»."""
    for $i, $x in enumerate($list):
        if $x == $target:
            return $i
    return -1''',
    '''def «binary_search|search_sorted|bisect_search»($list: list[int], $target: int) -> int:
    """Find $target in a sorted list« by halving the range|» and return its index or -1."""
    low, high = 0, len($list) - 1
    while low <= high:
        «mid|middle» = (low + high) // 2
        if $list[«mid|middle»] == $target:
            return «mid|middle»
        if $list[«mid|middle»] < $target:
            low = «mid|middle» + 1
        else:
            high = «mid|middle» - 1
    return -1''',
    '''def «remove_duplicates|unique|dedupe|unique_items»($list: list[int]) -> list[int]:
    """Return the «items|values» without duplicates, in their order."""
    $out = []
    for $x in $list:
        if $x not in $out:
            $out.append($x)
    return $out''',
    '''def «even_numbers|keep_even|filter_even|get_evens»($list: list[int]) -> list[int]:
    """«Keep|Return» only the even numbers."""
    «return [$x for $x in $list if $x % 2 == 0]|$out = []
    for $x in $list:
        if $x % 2 == 0:
            $out.append($x)
    return $out»''',
    '''def «reverse_words|flip_words|words_backwards»($text: str) -> str:
    """Return the «text|sentence» with its words in reverse order."""
    «words|parts» = $text.split()
    return " ".join(«reversed(«words|parts»)|«words|parts»[::-1]»)''',
    '''def «clamp|limit_value|bound»($n: int, low: int, high: int) -> int:
    """«Keep|Clamp» $n between low and high."""
    «return max(low, min($n, high))|if $n < low:
        return low
    if $n > high:
        return high
    return $n»''',
    '''def «average|mean|mean_value»($list: list[float]) -> float:
    """Return the «average|mean» of the «numbers|values», or 0.0 for an empty list."""
    if not $list:
        return 0.0
    return sum($list) / len($list)''',
    '''def «median|middle_value|find_median»($list: list[float]) -> float:
    """Return the median of the «numbers|values»."""
    ordered = sorted($list)
    mid = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return ordered[mid]
    return (ordered[mid - 1] + ordered[mid]) / 2''',
    '''def «bubble_sort|sort_numbers|sort_by_swapping»($list: list[int]) -> list[int]:
    """Sort the list «with bubble sort|by swapping neighbours»."""
    n = len($list)
    for $i in range(n):
        for k in range(n - $i - 1):
            if $list[k] > $list[k + 1]:
                $list[k], $list[k + 1] = $list[k + 1], $list[k]
    return $list''',
    '''def «insertion_sort|insert_sort|sort_list»($list: list[int]) -> list[int]:
    """Sort the list by inserting each «item|value» at its place."""
    for $i in range(1, len($list)):
        key = $list[$i]
        k = $i - 1
        while k >= 0 and $list[k] > key:
            $list[k + 1] = $list[k]
            k -= 1
        $list[k + 1] = key
    return $list''',
    '''def «quick_sort|quicksort|sort_recursive»($list: list[int]) -> list[int]:
    """Return a sorted copy «of the list|using a pivot»."""
    if len($list) <= 1:
        return $list
    pivot = $list[«0|len($list) // 2»]
    «small|lower|less» = [$x for $x in $list if $x < pivot]
    «same|equal|middle» = [$x for $x in $list if $x == pivot]
    «large|upper|more» = [$x for $x in $list if $x > pivot]
    return «quick_sort|quicksort|sort_recursive»(«small|lower|less») + «same|equal|middle» + «quick_sort|quicksort|sort_recursive»(«large|upper|more»)''',
    '''def «merge_sorted|merge|merge_lists»($a: list[int], $b: list[int]) -> list[int]:
    """Merge two sorted lists into one «sorted|» list."""
    $out = []
    $i = k = 0
    while $i < len($a) and k < len($b):
        if $a[$i] <= $b[k]:
            $out.append($a[$i])
            $i += 1
        else:
            $out.append($b[k])
            k += 1
    return $out + $a[$i:] + $b[k:]''',
    '''def «flatten|flatten_list|join_lists»($list: list[list]) -> list[int]:
    """Turn a list of lists into one «flat|» list."""
    «return [$x for part in $list for $x in part]|$out = []
    for part in $list:
        $out.extend(part)
    return $out|$out = []
    for part in $list:
        for $x in part:
            $out.append($x)
    return $out»''',
    '''def «chunks|split_into_chunks|batches»($list: list[int], $n: int) -> list[list]:
    """Split the list into «pieces|parts|chunks» of length $n."""
    «return [$list[$i:$i + $n] for $i in range(0, len($list), $n)]|$out = []
    for $i in range(0, len($list), $n):
        $out.append($list[$i:$i + $n])
    return $out»''',
    '''def «square_all|squares|squared»($list: list[int]) -> list[int]:
    """Return the square of every «number|value|item»."""
    «return [$x * $x for $x in $list]|return [$x ** 2 for $x in $list]|return list(map(lambda $x: $x * $x, $list))|$out = []
    for $x in $list:
        $out.append($x * $x)
    return $out»''',
    '''def «running_total|prefix_sums|cumulative_sum»($list: list[int]) -> list[int]:
    """Return the running totals of the «numbers|values|items»."""
    $total = 0
    $out = []
    for $x in $list:
        $total += $x
        $out.append($total)
    return $out''',
    '''def «sum_of_digits|digit_sum|add_digits»($n: int) -> int:
    """Return the sum of the digits of $n."""
    «return sum(int(d) for d in str(abs($n)))|$total = 0
    while $n > 0:
        $total += $n % 10
        $n //= 10
    return $total»''',
    '''def «count_digits|number_of_digits|num_digits»($n: int) -> int:
    """Count the digits of «a whole number|$n»."""
    «return len(str(abs($n)))|$n = abs($n)
    $total = 1
    while $n >= 10:
        $n //= 10
        $total += 1
    return $total»''',
    '''def «power|pow_int|raise_to»($a: int, $n: int) -> int:
    """Return $a to the power of $n."""
    «$out = 1
    for _ in range($n):
        $out *= $a
    return $out|if $n == 0:
        return 1
    return $a * «power|pow_int|raise_to»($a, $n - 1)»''',
    '''def «lcm|least_common_multiple|lowest_common_multiple»($a: int, $b: int) -> int:
    """Return the least common multiple of $a and $b."""
    $out = max($a, $b)
    while $out % $a != 0 or $out % $b != 0:
        $out += 1
    return $out''',
    '''def «divisors|find_divisors|factors_of»($n: int) -> list[int]:
    """«Return|List|Find» all divisors of $n."""
    «return [$i for $i in range(1, $n + 1) if $n % $i == 0]|$out = []
    for $i in range(1, $n + 1):
        if $n % $i == 0:
            $out.append($i)
    return $out»''',
    '''def «prime_factors|factorize|factors»($n: int) -> list[int]:
    """Return the prime factors of $n."""
    $out = []
    divisor = 2
    while $n > 1:
        while $n % divisor == 0:
            $out.append(divisor)
            $n //= divisor
        divisor += 1
    return $out''',
    '''def «primes_up_to|sieve|list_primes»($n: int) -> list[int]:
    """Return all primes «up to|not above» $n «with a sieve|»."""
    is_prime = [True] * ($n + 1)
    $out = []
    for $i in range(2, $n + 1):
        if is_prime[$i]:
            $out.append($i)
            for k in range($i * $i, $n + 1, $i):
                is_prime[k] = False
    return $out''',
    '''def «collatz_steps|count_collatz|steps_to_one»($n: int) -> int:
    """Count the Collatz steps from $n down to 1."""
    steps = 0
    while $n != 1:
        $n = $n // 2 if $n % 2 == 0 else 3 * $n + 1
        steps += 1
    return steps''',
    '''def «is_leap_year|leap_year|has_leap_day»(year: int) -> bool:
    """«Return True if|Check whether» the year is a leap year."""
    «return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)|if year % 400 == 0:
        return True
    if year % 100 == 0:
        return False
    return year % 4 == 0»''',
    '''def «to_binary|binary_string|int_to_binary»($n: int) -> str:
    """Return $n «in base two|as a binary string»."""
    if $n == 0:
        return "0"
    bits = ""
    while $n > 0:
        bits = str($n % 2) + bits
        $n //= 2
    return bits''',
    '''def «celsius_to_fahrenheit|to_fahrenheit»(degrees: float) -> float:
    """Convert «a temperature|degrees» from Celsius to Fahrenheit."""
    return degrees * 9 / 5 + 32''',
    '''def «distance|point_distance|euclidean_distance»(x1: float, y1: float, x2: float, y2: float) -> float:
    """Return the distance between two points."""
    «dx = x2 - x1
    dy = y2 - y1
    return (dx * dx + dy * dy) ** 0.5|return ((x1 - x2) ** 2 + (y1 - y2) ** 2) ** 0.5»''',
    '''def «area_of_circle|circle_area|disc_area»(radius: float) -> float:
    """Return the area of a circle with the given radius."""
    if radius < 0:
        raise ValueError("«the radius must not be negative|radius is negative»")
    return 3.14159 * radius ** 2''',
    '''def «area|rectangle_area|area_of_rectangle»(width: float, height: float) -> float:
    """Return the area of a rectangle."""
    «if width < 0 or height < 0:
        raise ValueError("sides must not be negative")
    |»return width * height''',
    '''def «capitalize_words|title_case|make_title»($text: str) -> str:
    """Give every word «in the text|of the sentence» a capital letter."""
    «return " ".join(word.capitalize() for word in $text.split())|$out = []
    for word in $text.split():
        $out.append(word[0].upper() + word[1:])
    return " ".join($out)»''',
    '''def «longest_word|find_longest|longest_string»($words: list[str]) -> str:
    """Return the longest «word|string» «in|of» the list."""
    «return max($words, key=len)|$out = ""
    for word in $words:
        if len(word) > len($out):
            $out = word
    return $out»''',
    '''def «remove_vowels|strip_vowels|without_vowels»($text: str) -> str:
    """Return the «text|string» without its vowels."""
    «return "".join(c for c in $text if c.lower() not in "aeiou")|$out = ""
    for c in $text:
        if c not in "aeiouAEIOU":
            $out += c
    return $out»''',
    '''def «char_counts|letter_frequency|count_letters»($text: str) -> dict[str, int]:
    """Count «every|each» «letter|character» of the «text|string»."""
    $dict = {}
    for c in $text:
        «$dict[c] = $dict.get(c, 0) + 1|if c in $dict:
            $dict[c] += 1
        else:
            $dict[c] = 1»
    return $dict''',
    '''def «is_anagram|are_anagrams|same_letters»($a: str, $b: str) -> bool:
    """Check if two words «use|have» the same letters."""
    return sorted($a«.lower()|») == sorted($b«.lower()|»)''',
    '''def «caesar|shift_text|caesar_cipher»($text: str, shift: int) -> str:
    """Shift every letter of the «text|message» by some places."""
    $out = ""
    for c in $text:
        if c.isalpha():
            base = ord("A") if c.isupper() else ord("a")
            $out += chr((ord(c) - base + shift) % 26 + base)
        else:
            $out += c
    return $out''',
    '''def «reverse_string|reverse_text|backwards»($text: str) -> str:
    """Return the «text|string» «backwards|in reverse»."""
    «return $text[::-1]|$out = ""
    for c in $text:
        $out = c + $out
    return $out|if not $text:
        return ""
    return «reverse_string|reverse_text|backwards»($text[1:]) + $text[0]»''',
    '''def «invert_dict|swap_keys|flip_mapping»($dict: dict[str, int]) -> dict[int, str]:
    """Swap the keys and values of a dictionary."""
    «return {value: key for key, value in $dict.items()}|swapped = {}
    for key, value in $dict.items():
        swapped[value] = key
    return swapped»''',
    '''def «group_by_length|words_by_length|group_words»($words: list[str]) -> dict[int, list]:
    """Group the words by their length."""
    $dict = {}
    for word in $words:
        «$dict.setdefault(len(word), []).append(word)|size = len(word)
        if size not in $dict:
            $dict[size] = []
        $dict[size].append(word)»
    return $dict''',
    '''def «most_common|mode|most_frequent»($list: list[int]) -> int:
    """Return the «value|item|number» that occurs most often."""
    «return max(set($list), key=$list.count)|$dict = {}
    for $x in $list:
        $dict[$x] = $dict.get($x, 0) + 1
    return max($dict, key=$dict.get)»''',
    '''def «common_items|intersection|shared_items»($a: list[int], $b: list[int]) -> list[int]:
    """Return the «items|values|elements» that are in both lists."""
    «return [item for item in $a if item in $b]|others = set($b)
    return [item for item in $a if item in others]|$out = []
    for item in $a:
        if item in $b and item not in $out:
            $out.append(item)
    return $out»''',
    '''def «rotate|rotate_left|shift_left»($list: list[int], $n: int) -> list[int]:
    """Rotate the list to the left by $n places."""
    if not $list:
        return []
    $n = $n % len($list)
    return $list[$n:] + $list[:$n]''',
    '''def «second_largest|runner_up|second_max»($list: list[int]) -> int:
    """Return the second largest «number|value|item»."""
    «return sorted(set($list))[-2]|top = max($list)
    return max($x for $x in $list if $x != top)»''',
    '''def «two_sum|find_pair|pair_with_sum»($list: list[int], $target: int) -> list[int]:
    """Find two positions whose values add up to $target."""
    $dict = {}
    for $i, $x in enumerate($list):
        if $target - $x in $dict:
            return [$dict[$target - $x], $i]
        $dict[$x] = $i
    return []''',
    '''def «is_sorted|check_sorted|in_order»($list: list[int]) -> bool:
    """«Check if|Return True if» the list is sorted."""
    «for $i in range(len($list) - 1):
        if $list[$i] > $list[$i + 1]:
            return False
    return True|return all($list[$i] <= $list[$i + 1] for $i in range(len($list) - 1))»''',
    '''def «transpose|flip_matrix|swap_rows_and_columns»(matrix: list[list]) -> list[list]:
    """Swap the rows and columns of a matrix."""
    «return [list(row) for row in zip(*matrix)]|$out = []
    for $i in range(len(matrix[0])):
        $out.append([row[$i] for row in matrix])
    return $out»''',
    '''def «dot_product|dot|inner_product»($a: list[float], $b: list[float]) -> float:
    """Return the dot product of two «lists|vectors» of equal length."""
    if len($a) != len($b):
        raise ValueError("«lengths differ|vectors must have the same length»")
    return sum(u * v for u, v in zip($a, $b))''',
    '''def «fizz_buzz|fizzbuzz»($n: int) -> list[str]:
    """Return the FizzBuzz words «from 1 to|up to» $n."""
    $out = []
    for $i in range(1, $n + 1):
        if $i % 15 == 0:
            $out.append("FizzBuzz")
        elif $i % 3 == 0:
            $out.append("Fizz")
        elif $i % 5 == 0:
            $out.append("Buzz")
        else:
            $out.append(str($i))
    return $out''',
    '''def «count_if|count_matches|how_many»($list: list[int], $target: int) -> int:
    """Count how often $target «is|occurs» in the list."""
    «return sum(1 for $x in $list if $x == $target)|$total = 0
    for $x in $list:
        if $x == $target:
            $total += 1
    return $total»''',
    '''def «is_balanced|balanced_brackets|check_brackets»($text: str) -> bool:
    """Check if «all brackets are closed|every bracket has its partner»."""
    pairs = {")": "(", "]": "[", "}": "{"}
    «stack|open_brackets» = []
    for c in $text:
        if c in "([{":
            «stack|open_brackets».append(c)
        elif c in pairs:
            if not «stack|open_brackets» or «stack|open_brackets».pop() != pairs[c]:
                return False
    return not «stack|open_brackets»''',
    '''def «depth_first|dfs|visit_all»(graph: dict[str, list], start: str) -> list[str]:
    """Visit every node that can be reached from start."""
    stack = [start]
    «visited|seen_nodes» = []
    while stack:
        node = stack.pop()
        if node not in «visited|seen_nodes»:
            «visited|seen_nodes».append(node)
            stack.extend(graph[node])
    return «visited|seen_nodes»''',
    '''def «hanoi_moves|tower_of_hanoi|count_hanoi»($n: int) -> int:
    """Return the number of moves for a tower of $n discs."""
    if $n == 0:
        return 0
    return 2 * «hanoi_moves|tower_of_hanoi|count_hanoi»($n - 1) + 1''',
    '''def «deposit|add_money|pay_in»(self, amount: int) -> int:
    """Add «an amount|money» to the «account|balance» and return the new balance."""
    if amount <= 0:
        raise ValueError("«the amount must be positive|amount must be above zero»")
    self.balance += amount
    return self.balance''',
    '''def «push|add_item|put»(self, $x: int) -> None:
    """«Put|Push» «a value|an item» on top of the stack."""
    «if len(self.items) >= self.limit:
        raise OverflowError("the stack is full")
    |»self.items.append($x)''',
    '''def «pop|take_item|remove_last»(self) -> int:
    """«Remove and return|Take» the top of the stack."""
    if not self.items:
        raise IndexError("«the stack is empty|nothing to take»")
    return self.items.pop()''',
    '''def «append_node|add_last|insert_at_end»(self, $x: int) -> None:
    """Add a «value|node» at the end of the linked list."""
    «node|new_node» = Node($x)
    if self.head is None:
        self.head = «node|new_node»
        return
    current = self.head
    while current.next is not None:
        current = current.next
    current.next = «node|new_node»''',
)
