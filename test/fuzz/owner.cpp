// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "demand.hpp"
#include "engine/owner_text.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    using tenure::fuzz::demand;
    std::string_view const owner(reinterpret_cast<char const*>(data), size);
    auto const text = tenure::read_owner(owner);
    if (!text)
        return 0;
    demand(!text->worker.empty() && text->worker.find('/') == std::string::npos);
    demand(text->claimed_at || text->note.empty());
    demand(owner.starts_with(tenure::owner_prefix(text->worker, text->note)));
    // the shown part never reaches into the random part
    demand(text->worker.size() + text->note.size() + 33 <= size);
    if (!text->claimed_at)
        return 0;
    auto const again =
        tenure::read_owner(tenure::make_owner(tenure::owner_prefix(text->worker, text->note), *text->claimed_at, {}));
    demand(again && again->worker == text->worker && again->note == text->note);
    demand(again->claimed_at == text->claimed_at);
    return 0;
}
