// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The meaning of errors.
#include "protocol.hpp"

#include <tenure/errc.hpp>

#include <regex>

namespace tenure::postgresql
{

namespace
{

struct Meaning {
    errc code = errc::store_refused;
    /// what to do; empty: retry
    std::string_view advice = {};
    bool fatal = false;
};

Meaning meaning_of(std::string_view code) noexcept
{
    if (code.starts_with("28"))
        return {errc::authentication_failed, "check user and password, and the server's pg_hba.conf", true};
    if (code == "3D000")
        return {errc::wrong_database, "create the database, or name another one in the URL", true};
    if (code == "42501")
        return {errc::permission_denied, "let the owner of the schema run: tenure init URL --role NAME", true};
    if (code == "3F000" || code == "42P01" || code == "42883" || code == "42P13")
        return {errc::wrong_server, "let the owner of the database run: tenure init URL", true};
    if (code == read_only_code)
        return {errc::store_refused, "the server is a standby, or was made read-only"};
    return {};
}

std::string text_of(ServerError const& error, Meaning const& meaning)
{
    auto text = error.message + " (" + error.code + ")";
    return meaning.advice.empty() ? text : text + "; " + std::string(meaning.advice);
}

} // namespace

bool is_refusal(std::string_view code) noexcept
{
    if (code == "40001" || code == "40P01" || code == "55P03" || code == "57014" || code == not_prepared_code)
        return true;
    for (std::string_view const kind : {"22", "23", "53", "54"})
        if (code.starts_with(kind))
            return true;
    return code == read_only_code || meaning_of(code).fatal;
}

Failure failure_of(ServerError const& error, std::string const& where)
{
    auto const meaning = meaning_of(error.code);
    auto detail = where + ": " + text_of(error, meaning);
    return is_refusal(error.code) ? Failure::refused(meaning.code, std::move(detail), meaning.fatal)
                                  : Failure::unknown(meaning.code, std::move(detail));
}

net::StreamError connect_failure(std::string const& message, bool needs_password)
{
    if (needs_password)
        return {errc::authentication_failed, message + "; give a password in the URL, or in ~/.pgpass", true};
    // "...: FATAL:  28P01: password authentication failed", whose words may be translated
    std::smatch found;
    if (!std::regex_search(message, found, std::regex(":  ([0-9A-Z]{5}): "))) {
        bool const tls = std::regex_search(message, std::regex("certificate|private key|SSL was required"));
        return {tls ? errc::tls_failed : errc::store_unavailable, message, tls};
    }
    ServerError const error{found.str(1), found.suffix()};
    auto const meaning = meaning_of(error.code);
    return {meaning.fatal ? meaning.code : errc::store_unavailable, text_of(error, meaning), meaning.fatal};
}

std::optional<net::StreamError> greeting_failure(TransactionReply const& reply, std::string const& schema)
{
    if (reply.error) {
        auto const meaning = meaning_of(reply.error->code);
        auto text = text_of(*reply.error, meaning);
        if (meaning.code == errc::wrong_server)
            text = "the database has no schema " + schema + " of tenure: " + text;
        return net::StreamError{meaning.fatal ? meaning.code : errc::store_unavailable, std::move(text), meaning.fatal};
    }
    auto const refused = [](std::string why) { return net::StreamError{errc::wrong_server, std::move(why), true}; };
    auto const& about = reply.results[reply.results.size() - 2];
    auto const server = about.text(4);
    for (std::string_view const other : {"CockroachDB", "Redshift", "-YB-"})
        if (server.find(other) != std::string_view::npos)
            return refused("not PostgreSQL: " + std::string(server));
    if (about.text(3) == "t")
        return net::StreamError{errc::store_unavailable, "the server is a standby, or read-only"};
    auto const& version = reply.results.back();
    if (version.number(1).value_or(protocol + 1) > protocol)
        return refused("the schema " + schema + " is newer than this program: update the program's tenure");
    if (version.number(0).value_or(0) < protocol)
        return refused("the schema " + schema + " is older than this program: let its owner run: tenure init URL");
    return std::nullopt;
}

} // namespace tenure::postgresql
