// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "lua.hpp"

#include <lua.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace tenure::simulation
{

namespace
{

// The address of each names a value in Lua's registry.
char host_key = 0;
/// where the words of the last failed command are kept while the error travels
char words_key = 0;

constexpr char err_field[] = "err";
constexpr char ok_field[] = "ok";

void push(lua_State* state, Reply const& reply)
{
    switch (reply.kind) {
    case Reply::Kind::null:
    case Reply::Kind::null_array:
        lua_pushboolean(state, 0);
        return;
    case Reply::Kind::integer:
        lua_pushnumber(state, static_cast<lua_Number>(reply.number));
        return;
    case Reply::Kind::bulk:
        lua_pushlstring(state, reply.text.data(), reply.text.size());
        return;
    case Reply::Kind::status:
    case Reply::Kind::error:
        lua_newtable(state);
        lua_pushlstring(state, reply.text.data(), reply.text.size());
        lua_setfield(state, -2, reply.kind == Reply::Kind::status ? "ok" : "err");
        return;
    case Reply::Kind::array:
    case Reply::Kind::map:
    case Reply::Kind::push:
        lua_createtable(state, static_cast<int>(reply.elements.size()), 0);
        for (std::size_t at = 0; at < reply.elements.size(); ++at) {
            push(state, reply.elements[at]);
            lua_rawseti(state, -2, static_cast<int>(at + 1));
        }
        return;
    }
}

bool take_field(lua_State* state, int index, char const* name, std::string& text)
{
    lua_getfield(state, index, name);
    bool const is_string = lua_type(state, -1) == LUA_TSTRING;
    if (is_string)
        text = lua_tostring(state, -1);
    lua_pop(state, 1);
    return is_string;
}

/** The value at the top of the stack, as servers turn it into a reply. */
Reply read(lua_State* state)
{
    switch (lua_type(state, -1)) {
    case LUA_TSTRING: {
        std::size_t size = 0;
        char const* const text = lua_tolstring(state, -1, &size);
        return Reply::bulk(std::string(text, size));
    }
    case LUA_TNUMBER:
        return Reply::integer(static_cast<std::int64_t>(lua_tonumber(state, -1)));
    case LUA_TBOOLEAN:
        return lua_toboolean(state, -1) != 0 ? Reply::integer(1) : Reply::null();
    case LUA_TTABLE:
        break;
    default:
        return Reply::null();
    }
    std::string text;
    if (take_field(state, -1, "err", text))
        return Reply::error(text);
    if (take_field(state, -1, "ok", text))
        return {Reply::Kind::status, text, 0, {}};
    auto list = Reply::list(Reply::Kind::array, {});
    // up to the first nil
    for (int at = 1;; ++at) {
        lua_rawgeti(state, -1, at);
        bool const over = lua_isnil(state, -1);
        if (!over)
            list.elements.push_back(read(state));
        lua_pop(state, 1);
        if (over)
            return list;
    }
}

/** Calls the command and pushes its reply, or a table with its error; false: an error. Nothing here may leave by
 *  Lua's errors, which skip destructors. */
bool call_command(lua_State* state)
{
    auto* const host = [&] {
        lua_pushlightuserdata(state, &host_key);
        lua_rawget(state, LUA_REGISTRYINDEX);
        auto* const found = static_cast<ScriptHost*>(lua_touserdata(state, -1));
        lua_pop(state, 1);
        return found;
    }();
    std::vector<std::string> words;
    for (int at = 1; at <= lua_gettop(state); ++at) {
        if (lua_type(state, at) == LUA_TNUMBER) {
            std::array<char, 40> digits{};
            std::snprintf(digits.data(), digits.size(), "%.17g", lua_tonumber(state, at));
            words.emplace_back(digits.data());
        } else if (lua_type(state, at) == LUA_TSTRING) {
            std::size_t size = 0;
            char const* const text = lua_tolstring(state, at, &size);
            words.emplace_back(text, size);
        } else {
            push(state, Reply::error("ERR Lua redis lib command arguments must be strings or integers"));
            return false;
        }
    }
    auto const reply = host->call(words);
    push(state, reply);
    return reply.kind != Reply::Kind::error;
}

/** A table with the text in one field: `redis.error_reply`, `redis.status_reply`. */
template <char const* field>
int redis_reply(lua_State* state)
{
    lua_newtable(state);
    lua_pushvalue(state, 1);
    lua_setfield(state, -2, field);
    return 1;
}

int redis_pcall(lua_State* state)
{
    (void)call_command(state);
    return 1;
}

int redis_call(lua_State* state)
{
    if (call_command(state))
        return 1;
    // keep what the server said, then fail where the script called
    lua_getfield(state, -1, "err");
    lua_pushlightuserdata(state, &words_key);
    lua_pushvalue(state, -2);
    lua_rawset(state, LUA_REGISTRYINDEX);
    luaL_where(state, 1);
    lua_pushvalue(state, -2);
    lua_concat(state, 2);
    return lua_error(state);
}

/** A script that runs this long never ends. */
constexpr int most_instructions = 20'000'000;

void stop(lua_State* state, lua_Debug*)
{
    luaL_error(state, "the script does not end");
}

void set_list(lua_State* state, char const* name, std::vector<std::string> const& values)
{
    lua_createtable(state, static_cast<int>(values.size()), 0);
    for (std::size_t at = 0; at < values.size(); ++at) {
        lua_pushlstring(state, values[at].data(), values[at].size());
        lua_rawseti(state, -2, static_cast<int>(at + 1));
    }
    lua_setglobal(state, name);
}

void set_registry(lua_State* state, char* key, void* value)
{
    lua_pushlightuserdata(state, key);
    if (value != nullptr)
        lua_pushlightuserdata(state, value);
    else
        lua_pushnil(state);
    lua_rawset(state, LUA_REGISTRYINDEX);
}

} // namespace

Lua::Lua()
    : state_(luaL_newstate())
{
    if (state_ == nullptr)
        throw std::runtime_error("no memory for Lua");
    constexpr std::array<std::pair<char const*, lua_CFunction>, 4> libraries{
        {{"", luaopen_base},
         {LUA_TABLIBNAME, luaopen_table},
         {LUA_STRLIBNAME, luaopen_string},
         {LUA_MATHLIBNAME, luaopen_math}}};
    for (auto const& [name, open] : libraries) {
        lua_pushcfunction(state_, open);
        lua_pushstring(state_, name);
        lua_call(state_, 1, 0);
    }
    lua_newtable(state_);
    lua_pushcfunction(state_, redis_call);
    lua_setfield(state_, -2, "call");
    lua_pushcfunction(state_, redis_pcall);
    lua_setfield(state_, -2, "pcall");
    lua_pushcfunction(state_, redis_reply<err_field>);
    lua_setfield(state_, -2, "error_reply");
    lua_pushcfunction(state_, redis_reply<ok_field>);
    lua_setfield(state_, -2, "status_reply");
    lua_setglobal(state_, "redis");
}

Lua::~Lua()
{
    lua_close(state_);
}

bool Lua::compile(std::string const& text, Error& error)
{
    if (auto const found = compiled_.find(text); found != compiled_.end()) {
        lua_rawgeti(state_, LUA_REGISTRYINDEX, found->second);
        return true;
    }
    if (luaL_loadbuffer(state_, text.data(), text.size(), "@user_script") != 0) {
        error.message = lua_tostring(state_, -1);
        lua_pop(state_, 1);
        return false;
    }
    lua_pushvalue(state_, -1);
    compiled_.emplace(text, luaL_ref(state_, LUA_REGISTRYINDEX));
    return true;
}

bool Lua::run(
    std::string const& text, std::vector<std::string> const& keys, std::vector<std::string> const& arguments,
    ScriptHost& host, Reply& reply, Error& error)
{
    if (!compile(text, error))
        return false;
    set_list(state_, "KEYS", keys);
    set_list(state_, "ARGV", arguments);
    set_registry(state_, &host_key, &host);
    set_registry(state_, &words_key, nullptr);
    lua_sethook(state_, stop, LUA_MASKCOUNT, most_instructions);
    bool const good = lua_pcall(state_, 0, 1, 0) == 0;
    if (good) {
        reply = read(state_);
    } else {
        error.message = lua_tostring(state_, -1) != nullptr ? lua_tostring(state_, -1) : "?";
        constexpr std::string_view where = "user_script:";
        if (error.message.starts_with(where))
            std::from_chars(
                error.message.data() + where.size(), error.message.data() + error.message.size(), error.line);
        lua_pushlightuserdata(state_, &words_key);
        lua_rawget(state_, LUA_REGISTRYINDEX);
        if (lua_type(state_, -1) == LUA_TSTRING)
            error.words = lua_tostring(state_, -1);
        lua_pop(state_, 1);
    }
    lua_pop(state_, 1);
    return good;
}

} // namespace tenure::simulation
