// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Listing of keys: reads the range files, without locks.
#include "files/encoding.hpp"
#include "operations.hpp"

#include <config/number_from.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::file
{

namespace
{

/** The stem of the range file with this name; nullopt: the name does not tell it. */
std::optional<std::string> stem_of(std::string_view name)
{
    if (!name.starts_with('='))
        return std::nullopt;
    std::string stem;
    for (std::size_t at = 1; at < name.size(); ++at) {
        if (name[at] != '%') {
            stem += name[at];
            continue;
        }
        auto const byte = number_from<std::uint8_t>(name.substr(at + 1, 2), 16);
        if (!byte)
            return std::nullopt;
        stem += static_cast<char>(*byte);
        at += 2;
    }
    return file_name_of(stem) == name ? std::optional(stem) : std::nullopt;
}

/** True if keys of the stem, which may go on with a number, can begin with the prefix. */
bool may_have(std::string_view stem, std::string_view prefix)
{
    return stem.starts_with(prefix) ||
           (prefix.starts_with(stem) && prefix.find_first_not_of("0123456789", stem.size()) == std::string_view::npos);
}

/** Appends the keys of a stem that are taken; of places the one key, if any of them is. */
void add_keys(Session& session, std::string const& stem, ListRequest const& request, KeyList& list)
{
    auto const file = session.find(stem);
    if (file == nullptr)
        return;
    bool const shared = has_places(stem);
    Look look(session);
    file->each({stem, 0, file->slots()}, [&](std::uint32_t slot, RecordPair const& pair) {
        auto key = shared ? stem.substr(0, stem.size() - 1) : slot == 0 ? stem : stem + std::to_string(slot - 1);
        bool const listed = key.starts_with(request.prefix) && look.at(current(pair)).taken;
        if (listed)
            list.keys.push_back(std::move(key));
        return list.keys.size() <= request.most && !(listed && shared);
    });
}

} // namespace

ListReply list(Context const& context, ListRequest const& request)
{
    auto& session = *context.session;
    session.check_intact();
    KeyList list;
    for (auto const& name : session.directory.ranges.names()) {
        if (list.keys.size() > request.most || request.not_after.over(session.runtime->now())) {
            list.more = true;
            break;
        }
        auto const stem = stem_of(name);
        // a draft of a file begins with a dot
        list.more = list.more || (!stem && name.starts_with('='));
        if (stem && may_have(*stem, request.prefix))
            add_keys(session, *stem, request, list);
    }
    return list;
}

} // namespace tenure::file
