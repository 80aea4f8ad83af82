// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The first byte says how the rest is cut; short input is also cut in two at every byte. For all bytes:
// no crash, bounded memory, and the same values as in one piece.
#include "store/redis/wire/parser.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace
{

using tenure::redis::resp::Parser;
using tenure::redis::resp::Value;

constexpr std::size_t limit = 4096;

struct Parsed {
    std::vector<Value> values;
    bool malformed = false;
};

std::size_t count_nodes(Value const& value)
{
    std::size_t nodes = 1;
    for (auto const& element : value.elements())
        nodes += count_nodes(element);
    return nodes;
}

/** In a first piece of this size, and further ones of that. */
Parsed parse(std::string_view bytes, std::size_t first, std::size_t further)
{
    Parser parser;
    Parsed parsed;
    auto piece = first;
    while (!bytes.empty() && !parsed.malformed) {
        // an exact copy, gone after the feed was used up: the sanitizer sees every read beyond it
        auto const size = std::min(std::exchange(piece, further), bytes.size());
        std::unique_ptr<char[]> const part(new char[size]);
        std::copy_n(bytes.data(), size, part.get());
        bytes.remove_prefix(size);
        parser.feed({part.get(), size});
        for (;;) {
            Value value;
            auto const status = parser.next(value, limit);
            parsed.malformed = status == Parser::Status::malformed;
            if (status != Parser::Status::complete)
                break;
            // no element is shorter than three bytes on the wire
            if (count_nodes(value) > limit / 3 + 1)
                std::abort();
            parsed.values.push_back(std::move(value));
        }
    }
    return parsed;
}

bool same(Value const& left, Value const& right)
{
    // not a number equals nothing, not even itself
    if (left.type() == tenure::redis::resp::Type::real && right.type() == left.type())
        return left.as_real() == right.as_real() ||
               (left.as_real() != left.as_real() && right.as_real() != right.as_real());
    if (!left.is_list())
        return left == right;
    return left.type() == right.type() && std::ranges::equal(left.elements(), right.elements(), same);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    if (size < 2)
        return 0;
    std::string_view const bytes(reinterpret_cast<char const*>(data) + 1, size - 1);
    auto const whole = parse(bytes, bytes.size(), 1);
    auto const compare = [&](Parsed const& cut) {
        if (whole.malformed != cut.malformed || !std::ranges::equal(whole.values, cut.values, same))
            std::abort();
    };
    std::size_t const piece = std::size_t{1} + data[0] % 17;
    compare(parse(bytes, piece, piece));
    if (bytes.size() <= 128)
        for (std::size_t at = 1; at < bytes.size(); ++at)
            compare(parse(bytes, at, bytes.size()));
    return 0;
}
