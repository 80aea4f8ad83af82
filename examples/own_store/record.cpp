// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "record.hpp"

#include <fstream>
#include <sstream>

namespace own_store
{

namespace
{

constexpr std::string_view first_word = "own_store";

/** `tenure::Clock` counts from the start of the machine; this names the start. */
std::string const& this_boot()
{
    static std::string const id = [] {
        std::string text;
        std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
        return text;
    }();
    return id;
}

} // namespace

std::string to_text(Record const& record)
{
    std::ostringstream text;
    text << first_word << ' ' << record.token << ' ' << this_boot() << ' ' << record.expires.time_since_epoch().count()
         << ' ' << record.lifetime.count() << '\n'
         << record.owner << '\n';
    return text.str();
}

Record read_record(std::string const& text, tenure::Instant now, bool& is_of_other_boot)
{
    std::istringstream in(text);
    std::string word;
    std::string boot;
    std::int64_t expires = 0;
    std::int64_t lifetime = 0;
    Record record;
    in >> word >> record.token >> boot >> expires >> lifetime;
    record.is_foreign = !in || word != first_word || in.get() != '\n' || !std::getline(in, record.owner) || in.eof();
    // Instants of another boot are not comparable. That boot's holder is dead, so a whole lifetime from now is later
    // than any validity.
    is_of_other_boot = !record.is_foreign && boot != this_boot();
    record.expire_after(std::chrono::milliseconds(lifetime), now);
    if (!is_of_other_boot)
        record.expires = tenure::Instant(std::chrono::nanoseconds(expires));
    return record;
}

std::string file_name(std::string_view key)
{
    constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_:";
    constexpr std::string_view digits = "0123456789abcdef";
    std::string name;
    for (char const c : key) {
        auto const code = static_cast<unsigned char>(c);
        if (plain.find(c) != std::string_view::npos)
            name += c;
        else
            ((name += '%') += digits[code / 16U]) += digits[code % 16U];
    }
    return name;
}

} // namespace own_store
